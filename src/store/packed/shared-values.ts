// Keeps once what many rows have in common, like the owner or the scope of many keys. A value is a text of JSON and has a number as long
// as a row holds it.

interface Shared {
  text: string;
  holders: number;
}

/** A text in memory without its characters: the string, the entry, the place in the map. */
const overheadBytes = 160;
/** Characters of parsed values that are kept: of a thousand ordinary owners. */
const mostParsed = 256 * 1024;

export class SharedValues {
  readonly #numbers = new Map<string, number>();
  readonly #values: (Shared | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #parsed = new Map<number, unknown>();
  #parsedChars = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  hold(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) {
      (this.#values[known] as Shared).holders++;
      return known;
    }
    const number = this.#free.pop() ?? this.#values.length;
    this.#values[number] = { text, holders: 1 };
    this.#numbers.set(text, number);
    this.#bytes += overheadBytes + text.length;
    return number;
  }

  release(number: number): void {
    const value = this.#values[number] as Shared;
    value.holders--;
    if (value.holders > 0) return;
    this.#numbers.delete(value.text);
    this.#values[number] = undefined;
    if (this.#parsed.delete(number)) this.#parsedChars -= value.text.length;
    this.#free.push(number);
    this.#bytes -= overheadBytes + value.text.length;
  }

  text(number: number): string {
    return (this.#values[number] as Shared).text;
  }

  /** Readers share the value and must not change it. */
  parsed(number: number): unknown {
    const known = this.#parsed.get(number);
    if (known !== undefined) return known;
    const text = this.text(number);
    const value: unknown = JSON.parse(text);
    if (this.#parsedChars + text.length > mostParsed) {
      this.#parsed.clear();
      this.#parsedChars = 0;
    }
    if (text.length > mostParsed) return value;
    this.#parsed.set(number, value);
    this.#parsedChars += text.length;
    return value;
  }
}
