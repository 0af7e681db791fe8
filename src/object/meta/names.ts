// Names that a virtual object gets on its host: pure text to text, byte for byte what vCluster computes. Whoever wants a
// name inside the sandbox gets these functions as source text, so each stands on its own feet apart from the digest.
import { createHash } from 'node:crypto';

/** Longest DNS-1123 label, which vCluster takes as the limit of every name it builds. */
export const maxNameLength = 63;

const hashedHeadLength = 52;
const hashDigits = 10;
const generatedDigits = 13;

function sha256Hex(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** Joins with "-"; over 63 bytes the tail becomes a digest and every ".-" of the result a "-". */
export function safeConcatName(...parts: string[]): string {
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

/** `v` and thirteen base36 digits: short, the same for the same input, no hint of the tenant's name. */
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

/** The key that a reserved label key of a tenant gets on the host. */
export function hostLabelKey(key: string, virtualCluster: string): string {
  return safeConcatName('vcluster.loft.sh/label', virtualCluster, 'x', sha256Hex(key).slice(0, hashDigits));
}
