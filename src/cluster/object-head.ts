// Which object at which version a text is about, read from its first bytes alone: half of what an API server sends about own
// writes is known by then, as an answer and an event say the same. Every server writes names before anything that may be long;
// where one does not, nothing is told and the text is read in whole. Pure.

export interface ObjectHead {
  kind: string;
  namespace: string;
  name: string;
  resourceVersion: string;
}

/** Whether all that such an object says is known, at this version or a later one. */
export type IsKnown = (head: ObjectHead) => boolean;

/** Room for a type, a kind, two names, a uid and a version. */
const headBytes = 768;

const opening = /\{"kind":"(\w+)","apiVersion":"[\w./]+","metadata":\{/y;
const eventOpening = /\{"type":"(ADDED|MODIFIED)","object":(?=\{)/y;
/** A quote inside of a value is escaped, so nobody who may choose one can end it early. */
const textMember = /"(\w+)":"([^"\\]*)"[,}]/y;

/** Undefined for what does not begin as objects do; no word is said about the rest of the text. */
export function headOf(bytes: Buffer): ObjectHead | undefined {
  return readHead(bytes.toString('latin1', 0, headBytes), 0);
}

/** Never inside of a text, where a quote is escaped: two events that somebody on the way has put on one line. */
const nextEvent = Buffer.from('}{"type":"');

/** The same of a watch event that brings an object, and is the only one there. */
export function headOfEvent(bytes: Buffer): { type: 'ADDED' | 'MODIFIED'; head: ObjectHead } | undefined {
  const text = bytes.toString('latin1', 0, headBytes);
  eventOpening.lastIndex = 0;
  const type = eventOpening.exec(text)?.[1] as 'ADDED' | 'MODIFIED' | undefined;
  const head = type && readHead(text, eventOpening.lastIndex);
  return type && head && !bytes.includes(nextEvent) ? { type, head } : undefined;
}

function readHead(text: string, from: number): ObjectHead | undefined {
  opening.lastIndex = from;
  const kind = opening.exec(text)?.[1];
  if (kind === undefined) return undefined;
  let name: string | undefined;
  let namespace: string | undefined;
  let resourceVersion: string | undefined;
  textMember.lastIndex = opening.lastIndex;
  for (;;) {
    const member = textMember.exec(text);
    if (member === null) return undefined;
    const [, field, value] = member;
    if (field === 'name') name = value;
    else if (field === 'namespace') namespace = value;
    else if (field === 'resourceVersion') resourceVersion = value;
    if (name !== undefined && namespace !== undefined && resourceVersion !== undefined)
      return { kind, namespace, name, resourceVersion };
  }
}
