// runtime/manifest.ts — definitions written down, for `chumbo.sync_capabilities` to make them rows.

export { manifest, type Manifest } from './capabilities/define.ts'
