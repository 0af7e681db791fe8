// Reads which right is missing from the words in which an API server refuses a request, and says it in few words. In: a message. Out:
// the right, or the message with the refusal in short. Pure.

export interface RefusedRight {
  verb: string;
  resource: string;
  /** Empty for the core group. */
  group: string;
  /** Undefined for the whole cluster, and where the message was cut before it. */
  namespace?: string;
}

const right =
  /cannot (?<verb>\w+) resource "(?<resource>[^"]+)" in API group "(?<group>[^"]*)"(?: in the namespace "(?<namespace>[^"]+)"| in the nam[^";]*…| in the…| in…| at the cluster scope)?/;

/** The request in front, as messages about answers name it, and who has asked are left out; so is why the right is missing. */
const refusal = new RegExp(
  `(?:\\b[A-Z]+ /\\S* at \\S+: 403 )?\\S+(?: "[^"]*")? is forbidden: User "[^"]*" ${right.source}(?:: RBAC: [^;]*)?`,
  'g',
);

export function refusedRight(message: string): RefusedRight | undefined {
  const found = right.exec(message)?.groups;
  return found && rightIn(found);
}

/** `not allowed to list configmaps in namespace "h"`, and what else the message says. */
export function withShortRefusals(message: string): string {
  if (!message.includes(' is forbidden: User ')) return message;
  return message.replace(refusal, (...found) => shortRefusal(rightIn(found.at(-1) as Record<string, string>)));
}

function shortRefusal({ verb, resource, group, namespace }: RefusedRight): string {
  const what = group === '' ? resource : `${resource}.${group}`;
  return `not allowed to ${verb} ${what}${namespace === undefined ? '' : ` in namespace "${namespace}"`}`;
}

function rightIn({
  verb = '',
  resource = '',
  group = '',
  namespace,
}: Record<string, string | undefined>): RefusedRight {
  return { verb, resource, group, ...(namespace !== undefined && { namespace }) };
}
