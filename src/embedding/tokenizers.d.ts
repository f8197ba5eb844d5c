/** The package's own types import without file extensions, which TypeScript can't follow under `nodenext`. */
declare module '@huggingface/tokenizers' {
  export class Tokenizer {
    constructor(tokenizer: unknown, config: object);
    encode(text: string): { ids: number[] };
  }
}
