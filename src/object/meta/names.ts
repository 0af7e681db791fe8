// Computes the host names of virtual objects, byte for byte as vCluster does. The sandbox receives these functions as source
// text, so each function may depend only on the digest and the constants here. Pure.
import { createHash } from 'node:crypto';

/** The length of the longest DNS-1123 label; vCluster limits every generated name to it. */
export const maxNameLength = 63;

const hashedHeadLength = 52;
const hashDigits = 10;
const generatedDigits = 13;

function sha256Hex(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** Joins the parts with "-". Over 63 bytes, a digest replaces the tail, and "-" replaces every ".-" of the result. */
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
