/** A page of a list that is read forward. */
export interface Page<Node> {
  readonly nodes: readonly Node[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** Names the node's place in the list. */
  readonly cursorOf: (node: Node) => string;
}
