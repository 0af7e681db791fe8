// The model is a set of sentences. A sentence of the requirements (R), of the design of the management API (D) or of the notes
// in matrix-case.ts (N) is beside the predicate that says when the sentence applies, so that a difference between the
// model and the implementation can name the sentence that the model went by.

export interface Sentence<Question> {
  text: string;
  applies: (question: Question) => boolean;
}

/** The text of the first sentence that applies. */
export function firstThatApplies<Question>(
  sentences: readonly Sentence<Question>[],
  question: Question,
): string | undefined {
  return sentences.find((sentence) => sentence.applies(question))?.text;
}

/** Whether a list is absent or empty: the requirements treat both alike. */
export function isEmpty(list: readonly unknown[] | undefined): boolean {
  return list === undefined || list.length === 0;
}
