// Reads the name and version of an object from the first bytes of its JSON text. Half of all watch events repeat the answer to
// an own write, and parsing them completely would be wasted work. API servers write the names before the long fields. For any
// other order this file finds no head, and the caller parses the whole text. Pure.

export interface ObjectHead {
  kind: string;
  namespace: string;
  name: string;
  resourceVersion: string;
}

/** Room for a type, a kind, two names, a uid and a version. */
const headBytes = 768;

const opening = /\{"kind":"(\w+)","apiVersion":"[\w./]+","metadata":\{/y;
const eventOpening = /\{"type":"(ADDED|MODIFIED)","object":(?=\{)/y;
/** JSON escapes a quote inside a value, so a tenant cannot end a value early and forge a member. */
const textMember = /"(\w+)":"([^"\\]*)"[,}]/y;

/** Undefined when the text does not begin like an object. The rest of the text is not checked. */
export function headOf(bytes: Buffer): ObjectHead | undefined {
  return readHead(bytes.toString('latin1', 0, headBytes), 0);
}

/** Separates two events that a proxy has put on one line. It never occurs inside a JSON value, where quotes are escaped. */
const nextEvent = Buffer.from('}{"type":"');

/** The head of an ADDED or MODIFIED event that is alone on its line. */
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
