import type { CodegenConfig } from '@graphql-codegen/cli';

const scalars = {
  DateTime: { input: 'Date | string', output: 'Date' },
  SafeInt: { input: 'number', output: 'number' },
  JSONObject: { input: 'Record<string, unknown>', output: 'Record<string, unknown>' },
};

const config: CodegenConfig = {
  schema: 'schema/*.graphql',
  generates: {
    'src/generated/resolvers.ts': {
      plugins: ['typescript', 'typescript-resolvers'],
      config: {
        contextType: '../context.ts#Context',
        mappers: {
          Memory: '../modules/memory/model.ts#Memory as MemoryModel',
          MemoryVersion: '../modules/memory/model.ts#MemoryVersion as MemoryVersionModel',
          MemoryConnection: '../modules/memory/service.ts#MemoryPage',
          StoreMemoryPayload: '../modules/memory/service.ts#StoreResult',
          RecordCiEventPayload: '../modules/memory/service.ts#CiEventResult',
          UpdateMemoryPayload: '../modules/memory/service.ts#UpdateResult',
          SearchMemoriesPayload: '../modules/recall/service.ts#Hits',
          SearchHit: '../modules/recall/service.ts#Hit',
          ApiKeyScope: '../modules/access/principal.ts#Scope',
          Account: '../modules/access/service.ts#AccountView',
          ApiKey: '../modules/access/store.ts#ApiKey as ApiKeyModel',
          AuditEntry: '../modules/access/audit.ts#AuditEntry as AuditEntryModel',
        },
        scalars,
        enumsAsTypes: true,
        useTypeImports: true,
        optionalResolveType: true,
        defaultScalarType: 'unknown',
      },
    },
    'src/generated/operations.ts': {
      documents: 'src/rest/operations/*.graphql',
      plugins: ['typescript-operations', 'typed-document-node'],
      config: { scalars, enumsAsTypes: true, useTypeImports: true, skipTypename: true, optimizeDocumentNode: true },
    },
  },
};
export default config;
