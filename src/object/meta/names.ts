// Computes the host names of virtual objects, byte for byte as vCluster does. The sandbox receives these functions as source
// text, so each function may depend only on the digest and the constants here. Pure.
import { createHash } from 'node:crypto';

/** The length of the longest DNS-1123 label; vCluster limits every generated name to it. */
const maxNameLength = 63;

const hashedHeadLength = 52;
const hashDigits = 10;
const generatedDigits = 13;

function sha256Hex(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** Joins the parts with "-". Over 63 bytes, a digest replaces the tail, and "-" replaces every ".-" of the result. */
function safeConcatName(...parts: string[]): string {
  const joined = parts.join('-');
  if (Buffer.byteLength(joined) <= maxNameLength) return joined;
  const bytes = Buffer.from(joined, 'utf8');
  const head = bytes.subarray(0, hashedHeadLength).toString('utf8');
  return `${head}-${sha256Hex(joined).slice(0, hashDigits)}`.replaceAll('.-', '-');
}

/** name-x-namespace-x-VC. An empty name stays empty, an empty namespace keeps its empty segment. */
export function hostName(virtual: { name: string; namespace: string }, virtualCluster: string): string {
  if (virtual.name === '') return '';
  return safeConcatName(virtual.name, 'x', virtual.namespace, 'x', virtualCluster);
}

/** `v` and thirteen base36 digits: short, stable for the same input, and without a hint of the tenant's name. */
export function generatedName(virtual: { name: string; namespace: string }, virtualCluster: string): string {
  if (virtual.name === '') return '';
  const digest = sha256Hex([virtual.name, 'x', virtual.namespace, 'x', virtualCluster].join('-'));
  return `v${base36(digest).slice(0, generatedDigits)}`;
}

/** Big-endian base36 of a hex digest, with one leading zero for each leading zero byte: BigInt alone would drop those. */
export function base36(hex: string): string {
  let zeros = 0;
  while (hex.startsWith('00', zeros * 2)) zeros++;
  const rest = hex.slice(zeros * 2);
  return '0'.repeat(zeros) + (rest === '' ? '' : BigInt(`0x${rest}`).toString(36));
}

/** The host label key for a reserved label key of a tenant. */
export function hostLabelKey(key: string, virtualCluster: string): string {
  return safeConcatName('vcluster.loft.sh/label', virtualCluster, 'x', sha256Hex(key).slice(0, hashDigits));
}

/** Between the parts of a long name. */
export const nameSeparator = '-x-';

/** The objects whose name and namespace join to this text: "a-x-b-x-c" is a in b-x-c, and a-x-b in c. */
export function splitsOf(joined: string): { namespace: string; name: string }[] {
  const found: { namespace: string; name: string }[] = [];
  for (let at = joined.indexOf(nameSeparator); at >= 0; at = joined.indexOf(nameSeparator, at + 1)) {
    const one = { namespace: joined.slice(at + nameSeparator.length), name: joined.slice(0, at) };
    if (one.namespace !== '' && one.name !== '') found.push(one);
  }
  return found;
}

/** The objects that may have this long host name; none for a hashed name. */
export function splitHostName(hostName: string, virtualCluster: string): { namespace: string; name: string }[] {
  const end = `${nameSeparator}${virtualCluster}`;
  if (hostName.length > maxNameLength) return [];
  return hostName.endsWith(end) ? splitsOf(hostName.slice(0, -end.length)) : [];
}

/**
 * Whether the name may be one that Hostward or vCluster gives: a generated name, or a long one of any virtual cluster, hashed or
 * not. A hash may follow a dot that is cut away, so its name may be one shorter.
 */
export function hasGivenForm(hostName: string): boolean {
  // What somebody wrote into an annotation can be thousands of times longer, and longForm tries every pair of its separators.
  if (hostName.length > maxNameLength) return false;
  return generatedForm.test(hostName) || longForm.test(hostName) || hashedForm.test(hostName);
}

const generatedForm = new RegExp(`^v[0-9a-z]{${generatedDigits}}$`);
const longForm = /^.+-x-.+-x-.+$/;
const hashedForm = new RegExp(`^.{${hashedHeadLength - 1},${hashedHeadLength}}-[0-9a-f]{${hashDigits}}$`);
