// virtualToHostDNS for expressions: source text that runs inside the sandbox, with the names of this virtual cluster written
// into it. It repeats the name rule of object/names in the sandbox's terms; a test holds the two together.

export interface DnsNames {
  virtualCluster: string;
  hostNamespace: string;
  /** Exact pairs and `prefix*` patterns, most specific first; undefined in single-namespace mode. */
  mapping: { pairs: readonly (readonly [virtual: string, host: string])[]; mappingsOnly: boolean } | undefined;
}

/**
 * `<name>.<namespace>.svc`, with or without a cluster domain, becomes the name of the host Service. Any other text stays as it
 * is, as does the name of a Service without a place on the host: an annotation may hold any host name.
 */
export function hostDnsSource(names: DnsNames): string {
  return `({ sha256Hex }) => {
  const names = ${JSON.stringify({ ...names, mapping: names.mapping ?? null })};
  const hashed = (text) => {
    if (text.length <= 63) return text;
    return (text.slice(0, 52) + '-' + sha256Hex(text).slice(0, 10)).split('.-').join('-');
  };
  const mapped = (namespace) => {
    for (const [virtual, host] of names.mapping.pairs) {
      if (virtual === namespace) return host;
      if (!virtual.endsWith('*') || !namespace.startsWith(virtual.slice(0, -1))) continue;
      return host.slice(0, -1) + namespace.slice(virtual.length - 1);
    }
    return undefined;
  };
  const hostOf = (name, namespace) => {
    if (name === 'kubernetes' && namespace === 'default') return [names.virtualCluster, names.hostNamespace];
    const target = names.mapping === null ? undefined : mapped(namespace);
    if (target !== undefined) return [name, target];
    if (names.mapping !== null && names.mapping.mappingsOnly) return undefined;
    return [hashed([name, 'x', namespace, 'x', names.virtualCluster].join('-')), names.hostNamespace];
  };
  return (virtualService) => {
    if (typeof virtualService !== 'string') throw new TypeError('virtualToHostDNS() needs a text; check that the value exists first');
    const [name, namespace, svc, ...domain] = virtualService.split('.');
    if (svc !== 'svc' || name === '' || namespace === '') return virtualService;
    const host = hostOf(name, namespace);
    return host === undefined ? virtualService : [host[0], host[1], 'svc', ...domain].join('.');
  };
}`;
}
