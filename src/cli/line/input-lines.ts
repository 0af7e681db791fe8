// Standard input as lines, each as soon as it has arrived, so that a program at the other end can wait for every answer.

export type InputLine = { kind: 'line'; text: string } | { kind: 'tooLong' };

/** Blank lines are left out. */
export async function* inputLines(
  chunks: AsyncIterable<string>,
  { maxLength }: { maxLength: number },
): AsyncGenerator<InputLine> {
  let rest = '';
  let isSkipping = false;
  for await (const chunk of chunks) {
    const parts = chunk.split('\n');
    for (const [at, part] of parts.entries()) {
      if (!isSkipping) rest += part;
      if (rest.length > maxLength) {
        // Nothing of it is kept; its end is only waited for.
        isSkipping = true;
        rest = '';
      }
      if (at === parts.length - 1) break;
      if (isSkipping) yield { kind: 'tooLong' };
      else if (rest.trim() !== '') yield { kind: 'line', text: rest };
      rest = '';
      isSkipping = false;
    }
  }
  if (isSkipping) yield { kind: 'tooLong' };
  else if (rest.trim() !== '') yield { kind: 'line', text: rest };
}
