// Builds the discovery documents: /api, /apis and the documents below them, in the old form and in the aggregated form.
import { createHash } from 'node:crypto';
import type { Catalog } from '../kinds/catalog.ts';
import type { Kind } from '../kinds/kind.ts';

/** Undefined = the document does not exist. `aggregated` is the requested version of the aggregated form. */
export function discoveryDocument(catalog: Catalog, path: string, aggregated: string | undefined): object | undefined {
  const parts = path.replace(/\/$/, '').split('/').slice(1);
  if (parts.length === 1 && aggregated !== undefined) {
    const groups = parts[0] === 'api' ? [''] : catalog.groups().filter((group) => group !== '');
    if (parts[0] === 'api' && !catalog.groups().includes('')) return aggregatedList(catalog, []);
    return aggregatedList(catalog, groups);
  }
  if (parts[0] === 'api') return coreDocument(catalog, parts);
  const groups = catalog.groups().filter((group) => group !== '');
  if (parts.length === 1) {
    return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map((group) => groupDocument(catalog, group)) };
  }
  const [, group = '', version] = parts;
  if (!groups.includes(group)) return undefined;
  if (version === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...groupDocument(catalog, group) };
  return catalog.versionsOf(group).includes(version) ? resourceList(catalog, group, version) : undefined;
}

function coreDocument(catalog: Catalog, parts: readonly string[]): object | undefined {
  const versions = catalog.versionsOf('');
  if (parts.length === 1) return { kind: 'APIVersions', versions, serverAddressByClientCIDRs: [] };
  const version = parts[1] as string;
  return parts.length === 2 && versions.includes(version) ? resourceList(catalog, '', version) : undefined;
}

function groupDocument(catalog: Catalog, group: string): object {
  const versions = catalog.versionsOf(group).map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions, preferredVersion: versions[0] };
}

function resourceList(catalog: Catalog, group: string, version: string): object {
  const resources = catalog.kindsOf(group, version).flatMap((kind) => [resource(kind), ...subresources(kind)]);
  const groupVersion = group === '' ? version : `${group}/${version}`;
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
}

function resource(kind: Kind): object {
  return {
    name: kind.plural,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: kind.verbs,
    ...(kind.shortNames === undefined ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories === undefined ? {} : { categories: kind.categories }),
    ...(kind.answer === undefined ? { storageVersionHash: storageVersionHash(kind) } : {}),
  };
}

function storageVersionHash(kind: Kind): string {
  const text = `${kind.group}/${kind.version}/${kind.kind}`;
  return createHash('sha256').update(text).digest().subarray(0, 8).toString('base64');
}

interface SubresourceFacts {
  name: string;
  kind: string;
  group: string;
  version: string;
  verbs: readonly string[];
}

function subresourceFacts(kind: Kind): SubresourceFacts[] {
  return Object.entries(kind.subresources ?? {}).map(([name, subresource]) => {
    switch (subresource.mode) {
      case 'part':
        return { name, kind: kind.kind, group: kind.group, version: kind.version, verbs: subresource.verbs };
      case 'action': {
        const { kind: actionKind, group, version } = subresource;
        return { name, kind: actionKind, group, version, verbs: ['create'] };
      }
      default:
        return subresource satisfies never;
    }
  });
}

function subresources(kind: Kind): object[] {
  return subresourceFacts(kind).map((facts) => {
    const foreign = facts.group !== kind.group || facts.version !== kind.version;
    return {
      name: `${kind.plural}/${facts.name}`,
      singularName: '',
      namespaced: kind.namespaced,
      ...(foreign ? { group: facts.group, version: facts.version } : {}),
      kind: facts.kind,
      verbs: facts.verbs,
    };
  });
}

function aggregatedList(catalog: Catalog, groups: readonly string[]): object {
  const items = groups.map((group) => ({
    metadata: group === '' ? {} : { name: group },
    versions: catalog.versionsOf(group).map((version) => ({
      version,
      resources: catalog.kindsOf(group, version).map(aggregatedResource),
      freshness: 'Current',
    })),
  }));
  return { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
}

/** An empty group and version stand for the group and version of the list. */
function responseKind(kind: Kind, response: { group: string; version: string; kind: string }): object {
  const isOwn = response.group === kind.group && response.version === kind.version;
  return { group: isOwn ? '' : response.group, version: isOwn ? '' : response.version, kind: response.kind };
}

function aggregatedResource(kind: Kind): object {
  const sorted = subresourceFacts(kind).sort((a, b) => (a.name < b.name ? -1 : 1));
  const below = sorted.map((facts) => ({
    subresource: facts.name,
    responseKind: responseKind(kind, facts),
    verbs: facts.verbs,
  }));
  return {
    resource: kind.plural,
    responseKind: responseKind(kind, kind),
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: kind.verbs,
    ...(kind.shortNames === undefined ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories === undefined ? {} : { categories: kind.categories }),
    ...(below.length === 0 ? {} : { subresources: below }),
  };
}
