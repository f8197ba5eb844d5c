import type { GraphQLRequestContextDidResolveOperation } from '@apollo/server';
import {
  type FragmentDefinitionNode,
  getDirectiveValues,
  getVariableValues,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import type { Context } from '../context.ts';

/** How many fields of the schema's roots a valid operation asks for: one for each name in its answer. One for what the execution is going to refuse. */
export function countRootFields({ document, operation, schema, request }: GraphQLRequestContextDidResolveOperation<Context>): number {
  if (!operation) return 1;
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], request.variables ?? {});
  if (!coerced) return 1;
  const fragments = new Map(
    document.definitions.flatMap((definition): [string, FragmentDefinitionNode][] =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition]] : [],
    ),
  );
  const names = new Set<string>();
  const spread = new Set<string>();

  const isIncluded = (selection: SelectionNode) =>
    getDirectiveValues(GraphQLSkipDirective, selection, coerced)?.['if'] !== true &&
    getDirectiveValues(GraphQLIncludeDirective, selection, coerced)?.['if'] !== false;

  function collect({ selections }: SelectionSetNode): void {
    for (const selection of selections) {
      if (!isIncluded(selection)) continue;
      if (selection.kind === Kind.FIELD) names.add((selection.alias ?? selection.name).value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet);
      else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value);
        collect(fragments.get(selection.name.value)!.selectionSet);
      }
    }
  }

  collect(operation.selectionSet);
  return names.size;
}
