import type { ApolloServerPlugin, GraphQLRequestContextDidResolveOperation } from '@apollo/server';
import { type ASTNode, type DocumentNode, type FragmentDefinitionNode, GraphQLError, Kind, type SelectionSetNode } from 'graphql';
import { type ComplexityEstimator, getComplexity } from 'graphql-query-complexity';
import type { Context } from '../context.ts';
import { countRootFields } from './root-fields.ts';

/** Tokens of a document, counted while it is parsed. */
export const MAXIMUM_TOKENS = 4_000;
const MAXIMUM_DEPTH = 12;
const MAXIMUM_ALIASES = 30;
const MAXIMUM_COST = 10_000;

/**
 * Refuses a document that is too deep, has too many aliases or costs too much, before anything of it is executed. Each of its root
 * fields is a request of the caller's rate limit; the first is that of the HTTP request, the others are taken here, all or none.
 */
export const limits: ApolloServerPlugin<Context> = {
  requestDidStart: () =>
    Promise.resolve({
      async didResolveOperation(operation) {
        const { depth, aliases } = measure(operation.document);
        if (depth > MAXIMUM_DEPTH) throw refusal(`This document nests fields ${depth} deep; the limit is ${MAXIMUM_DEPTH}`);
        if (aliases > MAXIMUM_ALIASES) throw refusal(`This document has ${aliases} aliases; the limit is ${MAXIMUM_ALIASES}`);
        const cost = costOf(operation);
        if (cost > MAXIMUM_COST)
          throw refusal(
            `This document costs ${cost}; the limit is ${MAXIMUM_COST}. A field costs 1, a list its page size times its fields, a history ten times that`,
          );
        const more = countRootFields(operation) - 1;
        if (more > 0) await operation.contextValue.charge(more);
      },
    }),
};

function costOf({ document, schema, request, operationName }: GraphQLRequestContextDidResolveOperation<Context>): number {
  try {
    return getComplexity({
      schema,
      query: document,
      variables: request.variables ?? {},
      ...(operationName ? { operationName } : {}),
      estimators: [costOfField],
    });
  } catch (error) {
    // The variables don't fit, or the fragments unfold into too many fields to be counted.
    throw error instanceof GraphQLError ? refusal(error.message, error.nodes) : error;
  }
}

/** What an entry of these lists costs more than one of others: each version may be as large as a memory, for each memory of a page. */
const WEIGHTS: Readonly<Record<string, number>> = { 'Memory.history': 10 };

/** One a field; a list as often as it is long. */
const costOfField: ComplexityEstimator = ({ type, field, args, childComplexity }) => {
  const first: unknown = args['first'];
  const times = typeof first === 'number' ? Math.min(100, Math.max(1, first)) : 1;
  return 1 + times * childComplexity * (WEIGHTS[`${type.name}.${field.name}`] ?? 1);
};

/** Depth and aliases of a validated document, each fragment measured once. Introspection does not count: Apollo and graphql-js bound it. */
function measure(document: DocumentNode): { depth: number; aliases: number } {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  const measured = new Map<string, { depth: number; aliases: number }>();

  function ofFragment(name: string): { depth: number; aliases: number } {
    const known = measured.get(name);
    if (known) return known;
    const result = ofSelections(fragments.get(name)!.selectionSet);
    measured.set(name, result);
    return result;
  }

  function ofSelections({ selections }: SelectionSetNode): { depth: number; aliases: number } {
    let depth = 0;
    let aliases = 0;
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD && selection.name.value.startsWith('__')) continue;
      const inner =
        selection.kind === Kind.FRAGMENT_SPREAD
          ? ofFragment(selection.name.value)
          : selection.selectionSet
            ? ofSelections(selection.selectionSet)
            : { depth: 0, aliases: 0 };
      const isField = selection.kind === Kind.FIELD;
      depth = Math.max(depth, inner.depth + (isField ? 1 : 0));
      aliases += inner.aliases + (isField && selection.alias ? 1 : 0);
    }
    return { depth, aliases };
  }

  let depth = 0;
  let aliases = 0;
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    const operation = ofSelections(definition.selectionSet);
    depth = Math.max(depth, operation.depth);
    aliases += operation.aliases;
  }
  return { depth, aliases };
}

/** A 400: without it Apollo answers 500 to what a plugin throws. */
function refusal(message: string, nodes?: readonly ASTNode[]): GraphQLError {
  return new GraphQLError(message, { nodes: nodes ?? null, extensions: { code: 'BAD_REQUEST', http: { status: 400 } } });
}
