import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

const UNSAFE = [
  'no-explicit-any',
  'no-unsafe-argument',
  'no-unsafe-assignment',
  'no-unsafe-call',
  'no-unsafe-member-access',
  'no-unsafe-return',
  'unbound-method',
];

export default tseslint.config(
  { ignores: ['node_modules/', 'src/generated/', '.data/', 'test-results/'] },
  eslint.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['*.js', 'src/*.mjs', 'src/pages/browser/*.js'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_$', destructuredArrayIgnorePattern: '^_' }],
      // Fastify takes handlers that return its thenable reply.
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: false }],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  {
    // Answers of the service are looked at as a client sees them: as plain JSON.
    files: ['test/**', 'bench/**'],
    rules: Object.fromEntries(UNSAFE.map((rule) => [`@typescript-eslint/${rule}`, 'off'])),
  },
  {
    files: ['**/*.js', '**/*.mjs'],
    ...tseslint.configs.disableTypeChecked,
    languageOptions: { globals: { process: 'readonly', console: 'readonly' } },
  },
  {
    files: ['src/pages/browser/*.js'],
    languageOptions: {
      sourceType: 'script',
      globals: Object.fromEntries(
        ['document', 'localStorage', 'location', 'self', 'sessionStorage', 'SwaggerUIBundle', 'YogaGraphiQL'].map((name) => [name, 'readonly']),
      ),
    },
  },
);
