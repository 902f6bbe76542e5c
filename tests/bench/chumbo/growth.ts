// tests/bench/chumbo/growth.ts — an Edge Function.
import { createBenchApp } from './app.ts'

// eslint-disable-next-line no-restricted-syntax -- An Edge Function hands its handler over as the default export.
export default createBenchApp('direct', 'bench-growth')
