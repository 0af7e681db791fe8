// Names on the host, from the tables of spec/endpoints.md 1 and 2: what a virtual name, namespace and label key become.

import { isMap, sha256 } from './json.ts';

export const MAX_NAME = 63;
const KEPT = 52;

/** Joined with dashes; beyond 63 characters cut at 52 and told apart by ten digits of a hash. */
export function concat(...parts: readonly string[]): string {
  const joined = parts.join('-');
  if (Buffer.byteLength(joined) <= MAX_NAME) return joined;
  return `${joined.slice(0, KEPT)}-${sha256(joined).slice(0, 10)}`.replaceAll('.-', '-');
}

export const longName = (name: string, namespace: string, virtualCluster: string): string =>
  name === '' ? '' : concat(name, 'x', namespace, 'x', virtualCluster);

/** `v` and 13 digits; a leading zero byte of the hash is one digit 0, as in base58. */
export function generatedName(name: string, namespace: string, virtualCluster: string): string {
  if (name === '') return '';
  const digest = sha256(`${name}-x-${namespace}-x-${virtualCluster}`);
  let zeros = '';
  for (let at = 0; digest.slice(at, at + 2) === '00'; at += 2) zeros += '0';
  return `v${`${zeros}${BigInt(`0x${digest}`).toString(36)}`.slice(0, 13)}`;
}

export const MARKER = 'vcluster.loft.sh/managed-by';
export const NAMESPACE_LABEL = 'vcluster.loft.sh/namespace';
export const CONTROLLED_BY = 'vcluster.loft.sh/controlled-by';
const RESERVED_LABELS = [NAMESPACE_LABEL, MARKER, CONTROLLED_BY];

export const rewrittenKey = (key: string, virtualCluster: string): string =>
  concat('vcluster.loft.sh/label', virtualCluster, 'x', sha256(key).slice(0, 10));

export const isReserved = (key: string): boolean =>
  key.startsWith('vcluster.loft.sh/') || key.startsWith('hostward.dev/');

export interface Place {
  readonly namespace: string;
  readonly name: string;
}

/** How names, namespaces and label keys go over in one configuration. */
export interface Naming {
  readonly virtualCluster: string;
  readonly hostNamespace: string;
  readonly isMapped: boolean;
  /** Undefined: the namespace has no place on the host. */
  place(namespace: string, name: string): Place | undefined;
  /** The name that a reference writes. */
  referenceName(namespace: string, name: string): string;
  /** The host key of a label that goes over, undefined for one that is dropped. */
  labelKey(key: string): string | undefined;
  /** The virtual key of a host label. */
  virtualLabelKey(key: string): string | undefined;
  /** Namespaces of the host in which our copies can be. */
  owns(hostNamespace: string): boolean;
}

interface Mapping {
  readonly from: string;
  readonly to: string;
}

/** Where a mapping or a pattern with one trailing star sends a text; undefined where it does not fit. */
function mappedBy(mapping: Mapping, text: string): string | undefined {
  const star = mapping.from.indexOf('*');
  if (star < 0) return mapping.from === text ? mapping.to : undefined;
  const [head = '', tail = ''] = [mapping.from.slice(0, star), mapping.from.slice(star + 1)];
  if (!text.startsWith(head) || !text.endsWith(tail) || text.length < head.length + tail.length) return undefined;
  return mapping.to.replace('*', () => text.slice(head.length, text.length - tail.length));
}

const isExact = (mapping: Mapping): boolean => !mapping.from.includes('*');

export function namingOf(namespaces: unknown, virtualCluster: string, hostNamespace: string): Naming {
  const isMapped = isMap(namespaces) && namespaces['enabled'] === true;
  const byName = isMapped && isMap(namespaces['mappings']) ? namespaces['mappings']['byName'] : undefined;
  const filled = (text: string): string => text.replaceAll('$' + '{name}', virtualCluster);
  const mappings = Object.entries(isMap(byName) ? byName : {}).map(([from, to]) => ({
    from: filled(from),
    to: filled(String(to)),
  }));
  const ordered = [...mappings.filter(isExact), ...mappings.filter((mapping) => !isExact(mapping))];
  const mapsOnly = isMapped && namespaces['mappingsOnly'] === true;
  const rewritten = isMapped ? RESERVED_LABELS : ['release', ...RESERVED_LABELS];
  const back = new Map(rewritten.map((key) => [rewrittenKey(key, virtualCluster), key]));

  const mappedNamespace = (namespace: string): string | undefined => {
    for (const mapping of ordered) {
      const found = mappedBy(mapping, namespace);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return {
    virtualCluster,
    hostNamespace,
    isMapped,
    place(namespace, name) {
      const mapped = isMapped ? mappedNamespace(namespace) : undefined;
      if (mapped !== undefined) return { namespace: mapped, name };
      if (mapsOnly) return undefined;
      return { namespace: hostNamespace, name: longName(name, namespace, virtualCluster) };
    },
    referenceName: (namespace, name) =>
      isMapped && mappedNamespace(namespace) !== undefined ? name : generatedName(name, namespace, virtualCluster),
    labelKey(key) {
      if (rewritten.includes(key)) return rewrittenKey(key, virtualCluster);
      return isReserved(key) ? undefined : key;
    },
    virtualLabelKey: (key) => back.get(key) ?? (rewritten.includes(key) || isReserved(key) ? undefined : key),
    owns: (namespace) =>
      namespace === hostNamespace ||
      (isMapped &&
        ordered.some((mapping) => mappedBy({ from: mapping.to, to: mapping.from }, namespace) !== undefined)),
  };
}
