// eslint.config.js — type-aware rules for every TypeScript file, and the one-way imports between the folders.
import tseslint from 'typescript-eslint'

const typeScript = ['**/*.ts']

/** Files Deno runs: its own checker types them, so here they get the rules that need no types. */
const denoFiles = ['functions/**', 'supabase/functions/**', 'tests/edge/**']

const runtimeGlobals = ['Deno', 'process', 'Buffer', 'Bun', '__dirname', '__filename', 'require'].map(
  (name) => ({
    name,
    message: 'Only runtime/hosts and cli may name a runtime; take what you need as an option.',
  }),
)

const towardsTests = { group: ['**/tests/**'], message: 'Only tests import tests.' }
const towardsProject = { group: ['**/supabase/**'], message: 'Nothing imports the reference project.' }
const towardsCli = { group: ['**/cli/**'], message: 'The runtime does not know the command line.' }
const towardsNode = { regex: '^node:', message: 'Only runtime/hosts and cli may name a runtime.' }
const towardsRuntime = {
  regex: '/runtime/(?!manifest|version)',
  allowTypeImports: true,
  message: 'The command line takes types, the manifest and the version from the runtime, nothing else.',
}

const restrictImports = (...patterns) => ({
  '@typescript-eslint/no-restricted-imports': ['error', { patterns }],
})

const noModuleState = {
  selector: ':matches(Program, Program > ExportNamedDeclaration) > VariableDeclaration[kind="let"]',
  message: 'No mutable module state: a cache belongs to an object the caller creates.',
}
const noDefaultExport = { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' }

export default tseslint.config(
  {
    ignores: [
      'dist/**',
      'node_modules/**',
      '.chumbo/**',
      'supabase/.temp/**',
      '**/*.js',
      '!eslint.config.js',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: typeScript,
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-restricted-syntax': ['error', noDefaultExport],
      'no-throw-literal': 'off',
      'object-shorthand': 'error',
      'prefer-const': 'error',
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      '@typescript-eslint/no-deprecated': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // Interfaces such as MCP's callbacks ask for a promise where an implementation needs no await.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/use-unknown-in-catch-callback-variable': 'error',
    },
  },
  {
    files: denoFiles,
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { parserOptions: { projectService: false } },
    // An Edge Function may hand its handler over as the default export.
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    files: ['runtime/**/*.ts'],
    rules: {
      // Where an application gives no sink, a fault still has to show somewhere.
      'no-console': ['error', { allow: ['warn', 'error'] }],
      'no-restricted-globals': ['error', ...runtimeGlobals],
      'no-restricted-syntax': ['error', noDefaultExport, noModuleState],
      ...restrictImports(towardsCli, towardsTests, towardsProject, towardsNode),
    },
  },
  {
    files: ['runtime/hosts/**/*.ts'],
    rules: {
      'no-console': 'off',
      'no-restricted-globals': 'off',
      ...restrictImports(towardsCli, towardsTests, towardsProject),
    },
  },
  {
    files: ['cli/**/*.ts'],
    rules: {
      // One module prints; a command returns data.
      'no-console': 'error',
      'no-restricted-syntax': ['error', noDefaultExport, noModuleState],
      ...restrictImports(towardsRuntime, towardsTests, towardsProject),
    },
  },
  {
    files: ['functions/**/*.ts', 'supabase/functions/**/*.ts'],
    rules: restrictImports(towardsCli, towardsTests),
  },
  {
    files: ['tests/**/*.ts'],
    rules: {
      // A test reaches straight for the value it just asserted on; a wrong guess fails the test anyway.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  { files: ['*.config.ts'], rules: { 'no-restricted-syntax': 'off' } },
)
