// Walks over very many values without holding up requests.

/** Unpacking so many keys takes about two milliseconds. */
const valuesInTurn = 500;

export async function* inTurns<T>(values: Iterable<T>): AsyncGenerator<T> {
  let count = 0;
  for (const value of values) {
    yield value;
    if (++count % valuesInTurn === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}
