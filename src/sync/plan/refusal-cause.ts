// Reads from the words in which an API server refuses a write why it does, without what differs from object to object: the request, the
// object's names and values, places in a list. So the objects that one webhook, quota or policy refuses have one cause. Pure.

/** Messages are cut behind 200 characters, and the names that are left out here have up to 63 each. */
const causeLength = 100;

/** `names`: those of the object. The message of an answer, or a sentence that ends with one. */
export function refusalCause(message: string, names: readonly string[]): string {
  const said = message.replace(/^(?:.*?: )?[A-Z]+ \/\S* at \S+: \d{3} /s, '');
  const quota = /\bexceeded quota: [^,]+/.exec(said)?.[0];
  if (quota !== undefined) return quota;
  const plain = withoutNames(said, names)
    .replace(/^\S+ "[^"]*" is (?:forbidden|invalid): /, '')
    .replace(/\b(\w+ value): (?:"(?:[^"\\]|\\.)*"|[^\s:,]+)/g, '$1')
    .replace(/\[\d+\]/g, '[]');
  return plain.length <= causeLength ? plain : `${plain.slice(0, causeLength - 1)}…`;
}

function withoutNames(text: string, names: readonly string[]): string {
  return names
    .filter((name) => name !== '')
    .toSorted((one, other) => other.length - one.length)
    .reduce((left, name) => left.split(name).reduce((before, after) => joinedAt(before, name, after)), text);
}

/** A short name may be a word of the server, or a part of one: "db" of "dbm". Quotes show the name, and so does a form that words lack. */
function joinedAt(before: string, name: string, after: string): string {
  const isQuoted = /["'`]$/.test(before) && /^["'`]/.test(after);
  const isWhole = name.includes('-') && !/[\w.-]$/.test(before) && !/^[\w-]|^\.\w/.test(after);
  return `${before}${isQuoted || isWhole ? '…' : name}${after}`;
}
