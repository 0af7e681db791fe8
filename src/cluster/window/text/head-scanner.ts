// Reads the heads of the objects from the JSON text of a list: namespace, name, uid and resourceVersion. The text arrives in
// chunks, and no chunk is kept. Everything else in the text is stepped over and not decoded, because a list is read every
// minute only to compare its heads with the cache. Members may come in any order. Pure.

export interface ListedHead {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
}

/** The part of a list that is not its items. */
export interface ListFrame {
  kind: string;
  apiVersion: string;
  resourceVersion: string;
  continueToken: string;
  items: 'absent' | 'null' | 'list';
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const bracketBit = 0x20;
const firstOfNull = 0x6e;

/** No member that is read here has a longer text; the longest is a continue token of a few hundred bytes. */
const textLimitBytes = 64 * 1024;

/** Where in the list the scanner is. `other` is any value that is stepped over. */
type ScanPlace = 'start' | 'list' | 'listMetadata' | 'items' | 'item' | 'itemMetadata' | 'other';

const frameMembers = new Map<string, 'resourceVersion' | 'continueToken'>([
  ['resourceVersion', 'resourceVersion'],
  ['continue', 'continueToken'],
]);
const headMembers = new Map<string, keyof ListedHead>([
  ['namespace', 'namespace'],
  ['name', 'name'],
  ['uid', 'uid'],
  ['resourceVersion', 'resourceVersion'],
]);

/** The lengths of all member names that are read. */
const readLengths = new Set(
  ['kind', 'apiVersion', 'metadata', 'items', ...frameMembers.keys(), ...headMembers.keys()].map(
    ({ length }) => length,
  ),
);

export class HeadScanner {
  readonly frame: ListFrame = { kind: '', apiVersion: '', resourceVersion: '', continueToken: '', items: 'absent' };
  readonly #found: (head: ListedHead) => void;
  #place: ScanPlace = 'start';
  /** The places around the present one. */
  #around: ScanPlace[] = [];
  /** How many brackets are open inside the value that is stepped over. */
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #hasEscape = false;
  /** The next text is the name of a member. */
  #wantsMember = false;
  #member = '';
  /** The bytes so far of a text that an earlier chunk began. */
  #begun: Buffer | undefined;
  #head: ListedHead = emptyHead();
  #isWhole = false;
  #fault: string | undefined;

  constructor(found: (head: ListedHead) => void) {
    this.#found = found;
  }

  /** What is wrong with the text so far, or with its end once the whole text was fed. */
  get fault(): string | undefined {
    return this.#fault ?? (this.#isWhole ? undefined : 'the list ends in the middle');
  }

  feed(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && this.#fault === undefined) {
      if (this.#place === 'other') at = this.#skip(chunk, at);
      else at = this.#isInText ? this.#readText(chunk, at) : this.#step(chunk, at);
    }
  }

  /** Steps over a value: only texts and brackets count. The state is in local variables, because most bytes pass here. */
  #skip(chunk: Buffer, from: number): number {
    let depth = this.#depth;
    let isInText = this.#isInText;
    let at = this.#isEscaped ? from + 1 : from;
    for (; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (byte === quote) isInText = !isInText;
      else if (isInText) {
        // The escaped byte may be the first one of the next chunk.
        if (byte === backslash) at++;
      } else if (byte > backslash || byte === openBracket) {
        // Outside a text only brackets matter; `{` and `[`, and their ends, differ in one bit.
        const bracket = byte | bracketBit;
        if (bracket === openBrace) depth++;
        else if (bracket === closeBrace && --depth === 0) {
          this.#place = this.#around.pop() as ScanPlace;
          at++;
          break;
        }
      }
    }
    this.#depth = depth;
    this.#isInText = isInText;
    this.#isEscaped = at > chunk.length;
    return at;
  }

  /** One byte of structure in a place that is read. */
  #step(chunk: Buffer, at: number): number {
    const byte = chunk[at] as number;
    if (byte === quote) {
      this.#isInText = true;
      this.#hasEscape = false;
    } else if (byte === openBrace || byte === openBracket) this.#open(byte);
    else if (byte === closeBrace || byte === closeBracket) this.#close();
    else if (byte === comma) this.#wantsMember = this.#place !== 'items';
    else if (byte === colon) this.#wantsMember = false;
    else if (byte === firstOfNull && this.#place === 'list' && this.#member === 'items') this.frame.items = 'null';
    return at + 1;
  }

  #readText(chunk: Buffer, from: number): number {
    let at = from;
    for (; at < chunk.length; at++) {
      if (this.#isEscaped) {
        this.#isEscaped = false;
        continue;
      }
      const byte = chunk[at] as number;
      if (byte === quote) break;
      if (byte === backslash) {
        this.#isEscaped = true;
        this.#hasEscape = true;
      }
    }
    if (at === chunk.length) {
      this.#keep(chunk.subarray(from, at));
      return at;
    }
    this.#isInText = false;
    if (this.#begun === undefined) this.#take(chunk, from, at);
    else {
      this.#keep(chunk.subarray(from, at));
      const whole = this.#begun;
      this.#begun = undefined;
      this.#take(whole, 0, whole.length);
    }
    return at + 1;
  }

  /** Keeps a copy of the beginning of a text, because the chunk must not stay in memory. */
  #keep(piece: Buffer): void {
    this.#begun = Buffer.concat(this.#begun === undefined ? [piece] : [this.#begun, piece]);
    if (this.#begun.length > textLimitBytes)
      this.#fault = `a text in the head of an object is longer than ${textLimitBytes} bytes`;
  }

  /** Most members are not read, so their names and values are not decoded. */
  #take(bytes: Buffer, from: number, to: number): void {
    if (this.#wantsMember) {
      const mayBeRead = this.#hasEscape || readLengths.has(to - from);
      this.#member = mayBeRead ? this.#textOf(bytes, from, to) : '';
      if (mayBeRead) this.#forget();
      return;
    }
    if (this.#member === '') return;
    const { frame } = this;
    if (this.#place === 'itemMetadata') {
      const member = headMembers.get(this.#member);
      if (member !== undefined) this.#head[member] = this.#textOf(bytes, from, to);
    } else if (this.#place === 'listMetadata') {
      const member = frameMembers.get(this.#member);
      if (member !== undefined) frame[member] = this.#textOf(bytes, from, to);
    } else if (this.#place === 'list' && isTypeMember(this.#member))
      frame[this.#member] = this.#textOf(bytes, from, to);
  }

  #textOf(bytes: Buffer, from: number, to: number): string {
    const text = bytes.toString('utf8', from, to);
    if (!this.#hasEscape) return text;
    try {
      return JSON.parse(`"${text}"`) as string;
    } catch {
      this.#fault = 'a text of the list has an escape that JSON does not know';
      return '';
    }
  }

  /** A member that appears twice counts with its last value, as everywhere in JSON. */
  #forget(): void {
    const { frame } = this;
    if (this.#place === 'item' && this.#member === 'metadata') this.#head = emptyHead();
    else if (this.#place === 'itemMetadata') {
      const member = headMembers.get(this.#member);
      if (member !== undefined) this.#head[member] = '';
    } else if (this.#place === 'listMetadata') {
      const member = frameMembers.get(this.#member);
      if (member !== undefined) frame[member] = '';
    } else if (this.#place === 'list' && isTypeMember(this.#member)) frame[this.#member] = '';
    else if (this.#place === 'list' && this.#member === 'items') frame.items = 'absent';
    else if (this.#place === 'list' && this.#member === 'metadata') {
      frame.resourceVersion = '';
      frame.continueToken = '';
    }
  }

  #open(byte: number): void {
    const inner = this.#innerPlace(byte);
    if (this.#place === 'start' && inner === 'other') this.#fault = 'the answer is not a list';
    this.#around.push(this.#place);
    this.#place = inner;
    this.#depth = 1;
    this.#wantsMember = byte === openBrace;
    if (inner === 'item') this.#head = emptyHead();
  }

  #innerPlace(byte: number): ScanPlace {
    const isObject = byte === openBrace;
    switch (this.#place) {
      case 'start':
        return isObject && !this.#isWhole ? 'list' : 'other';
      case 'list':
        if (isObject && this.#member === 'metadata') return 'listMetadata';
        if (isObject || this.#member !== 'items') return 'other';
        this.frame.items = 'list';
        return 'items';
      case 'items':
        return isObject ? 'item' : 'other';
      case 'item':
        return isObject && this.#member === 'metadata' ? 'itemMetadata' : 'other';
      default:
        return 'other';
    }
  }

  #close(): void {
    const closed = this.#place;
    if (closed === 'start') {
      this.#fault = 'the list has more ends than beginnings';
      return;
    }
    this.#place = this.#around.pop() as ScanPlace;
    if (closed === 'list') this.#isWhole = true;
    if (closed !== 'item') return;
    const { name, uid, resourceVersion } = this.#head;
    if (name === '' || uid === '' || resourceVersion === '') this.#fault = 'an object of the list has no head';
    else this.#found(this.#head);
  }
}

function isTypeMember(member: string): member is 'kind' | 'apiVersion' {
  return member === 'kind' || member === 'apiVersion';
}

function emptyHead(): ListedHead {
  return { namespace: '', name: '', uid: '', resourceVersion: '' };
}
