// cli/stack/auth/tokens.ts — signs and verifies the ES256 tokens of the stack.

import { importJWK, jwtVerify, type JWTPayload, SignJWT } from 'jose'

import { publicJwk, type StackSecrets } from '../secrets.ts'

export interface Tokens {
  /** Signs claims; `iat` and `exp` are set here. */
  sign(claims: JWTPayload, lifeSeconds: number): Promise<string>
  /** Returns the claims of a token we signed. Rejects with jose's error otherwise. */
  verify(token: string): Promise<JWTPayload>
}

/** Tokens verified within their life are remembered, as the Data API does: a check costs 0.2 ms otherwise. */
const CACHE_SIZE = 500

/** Creates the signer of one stack. `clock` answers in milliseconds. */
export async function createTokens(
  secrets: StackSecrets,
  { clock = Date.now }: { readonly clock?: () => number } = {},
): Promise<Tokens> {
  const privateKey = await importJWK(secrets.signingKey, 'ES256')
  const publicKey = await importJWK(publicJwk(secrets), 'ES256')
  const verified = new Map<string, JWTPayload>()

  return {
    sign(claims, lifeSeconds) {
      const now = Math.floor(clock() / 1000)
      return new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: secrets.signingKey.kid, typ: 'JWT' })
        .setIssuedAt(now)
        .setExpirationTime(now + lifeSeconds)
        .sign(privateKey)
    },
    async verify(token) {
      const known = verified.get(token)
      if (known?.exp !== undefined && known.exp * 1000 > clock()) return known
      const { payload } = await jwtVerify(
        token,
        ({ kid }) => {
          if (kid !== secrets.signingKey.kid) throw new Error('No suitable key')
          return publicKey
        },
        { algorithms: ['ES256'], currentDate: new Date(clock()) },
      )
      const oldest = verified.size >= CACHE_SIZE ? verified.keys().next().value : undefined
      if (oldest !== undefined) verified.delete(oldest)
      verified.set(token, payload)
      return payload
    },
  }
}
