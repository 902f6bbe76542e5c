// cli/stack/postgres/pool.ts — pools of postgres.js that survive the death of a connection in use.
//
// In postgres.js 3.4.9 a statement sent on a connection that has just died throws outside of any promise, which
// ends the process, and its `begin` always sends one: the rollback. Here nothing is sent, and nothing is given
// back, once a statement has reported that its connection is gone.

import postgres from 'postgres'

import { isConnectionFault } from './connection-fault.ts'

/** Opens a pool. */
export function openPool(url: string, max: number): postgres.Sql {
  return postgres(url, {
    max,
    onnotice: () => undefined,
    // A database that was away for a moment must be found again at once; the default waits up to twenty seconds.
    backoff: () => 0.1,
    connection: { application_name: 'chumbo-stack' },
  })
}

/** Runs `work` in a transaction. Rolls back when it rejects, unless the connection is gone and the server has. */
export async function inTransaction<T>(
  sql: postgres.Sql,
  work: (tx: postgres.ReservedSql) => Promise<T>,
): Promise<T> {
  const connection = await sql.reserve()
  try {
    await connection.unsafe('begin')
    const result = await work(connection)
    await connection.unsafe('commit')
    connection.release()
    return result
  } catch (error) {
    if (!isConnectionFault(error)) {
      await connection.unsafe('rollback')
      connection.release()
    }
    throw error
  }
}

/** Makes `sql.reserve()` hand out connections that refuse to be used after their death: for a driver that is not ours. */
export function guardReserve(sql: postgres.Sql): void {
  const reserve = sql.reserve.bind(sql)
  sql.reserve = async () => {
    const connection = await reserve()
    const unsafe = connection.unsafe.bind(connection)
    const release = connection.release.bind(connection)
    let death: Error | undefined
    const guarded = async (...args: Parameters<typeof unsafe>) => {
      if (death !== undefined) throw death
      try {
        return await unsafe(...args)
      } catch (error) {
        if (error instanceof Error && isConnectionFault(error)) death = error
        throw error
      }
    }
    return Object.assign(connection, {
      // A query is more than a promise, but all that drivers do with it outside of cursors is to await it.
      unsafe: guarded as unknown as typeof unsafe,
      release: () => {
        if (death === undefined) release()
      },
    })
  }
}
