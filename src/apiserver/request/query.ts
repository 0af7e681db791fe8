// The one reader of a query. It reads a query as kube-apiserver does (Go's net/url, and the parameters of apimachinery), and writes
// it again from what was read, so that a server behind this one cannot read anything else. Pure.
import { exactValue, parseFieldSelector } from '../../object/select/field-selector.ts';

/** With more parameters than this Go reads none at all. */
export const maxParameters = 10_000;

/** What Go leaves out is left out here: a parameter with a semicolon or with a broken escape. */
export function readQuery(text: string): URLSearchParams {
  const parameters = text.split('&');
  if (parameters.length > maxParameters) return new URLSearchParams();
  const read = parameters.filter((parameter) => !parameter.includes(';') && !brokenEscape.test(parameter));
  // Without the sign in front, a question mark at the begin would be taken off the first name.
  return new URLSearchParams(`&${read.join('&')}`);
}

/** Why two readers could read different parameters; undefined = all read the same. */
export function queryFault(text: string): string | undefined {
  if (text.includes(';')) return 'a query must not contain semicolons; encode them as %3B';
  if (brokenEscape.test(text)) return 'a query must be percent-encoded: write a percent sign itself as %25';
  if (/[^\x21-\x7e]/.test(text))
    return 'a query must be percent-encoded, found a character that is not of printable ASCII';
  if (!isUtf8(text)) return 'a query must be UTF-8 before its percent-encoding';
  const count = text.split('&').length;
  return count > maxParameters ? `a query must have at most ${maxParameters} parameters, found ${count}` : undefined;
}

const brokenEscape = /%(?![0-9a-fA-F]{2})/;

function isUtf8(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** True when it is there and neither `0` nor `false` in any case. As in Go, ſ counts as an s. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== '0' && !/^false$/iu.test(value);
}

/**
 * The name in `fieldSelector=metadata.name=x`: such a list or watch counts as a request for that object, so that a right on named
 * objects allows it. Empty = no name, or none that a path could have.
 */
export function selectedName(query: URLSearchParams): string {
  if (!query.has('fieldSelector')) return '';
  const parsed = parseFieldSelector(query.get('fieldSelector') ?? '');
  const name = parsed.ok ? (exactValue(parsed.selector, 'metadata.name') ?? '') : '';
  return /[/%]|^\.{1,2}$/.test(name) ? '' : name;
}

const booleans: ReadonlySet<string> = new Set([
  ...['allowWatchBookmarks', 'sendInitialEvents', 'watch'],
  ...['force', 'ignoreStoreReadErrorWithClusterBreakingPotential', 'orphanDependents'],
  ...['stderr', 'stdin', 'stdout', 'tty'],
  ...['follow', 'insecureSkipTLSVerifyBackend', 'previous', 'timestamps'],
]);
/** Of these kube-apiserver reads the first value alone. Others may be lists, like `command`, `dryRun` and `ports`. */
const singles: ReadonlySet<string> = new Set([
  ...['continue', 'fieldSelector', 'labelSelector', 'limit', 'resourceVersion', 'resourceVersionMatch'],
  ...['fieldManager', 'fieldValidation', 'gracePeriodSeconds', 'pretty', 'propagationPolicy', 'timeout'],
  ...['container', 'limitBytes', 'sinceSeconds', 'sinceTime', 'stream', 'tailLines', 'timeoutSeconds'],
]);

/** With its question mark; empty without parameters. Each parameter has one spelling, and one that is read once occurs once. */
export function writeQuery(query: URLSearchParams): string {
  const written = new Set<string>();
  const parameters: string[] = [];
  for (const [name, value] of query) {
    const isBoolean = booleans.has(name);
    if ((isBoolean || singles.has(name)) && written.has(name)) continue;
    written.add(name);
    const plain = isBoolean ? String(isTrue(value)) : value;
    parameters.push(`${encodeURIComponent(name)}=${encodeURIComponent(plain)}`);
  }
  return parameters.length === 0 ? '' : `?${parameters.join('&')}`;
}
