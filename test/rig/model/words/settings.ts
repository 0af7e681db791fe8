// What the operator wrote, with the defaults of DESIGN: one value that the rest of the model asks.

import { below, isMap, type JsonMap, listBelow, textBelow } from './json.ts';
import { type Naming, namingOf } from './names.ts';
import type { CalmPoint, Json } from './types.ts';

export type SyncedKind = 'Endpoints' | 'EndpointSlice';

export interface Reference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly apiVersionPath?: string;
  readonly kindPath?: string;
  readonly namePath?: string;
  readonly namespacePath?: string;
  readonly naming?: string;
}

export interface PatchEntry {
  readonly path: string;
  readonly expression?: string;
  readonly reverseExpression?: string;
  readonly reference?: Reference;
  readonly labels?: Json;
  readonly onMissing?: string;
  readonly onError?: string;
}

export interface Settings {
  readonly sinceMs: number;
  readonly whole: JsonMap;
  readonly naming: Naming;
  readonly isOn: { readonly [kind in SyncedKind]: boolean };
  readonly patches: { readonly [kind in SyncedKind]: readonly PatchEntry[] };
  readonly isMirrored: boolean;
  readonly dropsNodeName: boolean;
  readonly setsOwner: boolean;
  readonly flowsBack: boolean;
  readonly isExcludedLabel: (key: string) => boolean;
  readonly isExcludedAnnotation: (key: string) => boolean;
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly allowsNames: boolean;
  readonly exports: { readonly Secret: boolean; readonly ConfigMap: boolean };
  readonly longReferences: boolean;
}

const patternTest = (patterns: readonly unknown[]): ((key: string) => boolean) => {
  const tests = patterns.map((pattern) => new RegExp(`^${String(pattern).split('*').map(escaped).join('.*')}$`, 'su'));
  return (key) => tests.some((test) => test.test(key));
};

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/gu, '\\$&');

const texts = (list: readonly unknown[]): readonly string[] => list.map(String);

export function settingsOf(point: CalmPoint): readonly Settings[] {
  return point.configurations.map(({ configuration, sinceMs }) => {
    const whole = configuration as JsonMap;
    const toHost = below(whole, 'sync', 'toHost');
    const ours = below(whole, 'hostward') ?? below(whole, 'global', 'hostward');
    const isEndpointsOn = below(ours, 'endpoints', 'enabled') ?? below(toHost, 'endpoints', 'enabled') ?? true;
    const naming = namingOf(below(toHost, 'namespaces'), point.virtualCluster, point.hostNamespace);
    const entries = (block: string): readonly PatchEntry[] =>
      listBelow(toHost, block, 'patches').filter(isMap) as unknown as readonly PatchEntry[];
    return {
      sinceMs,
      whole,
      naming,
      isOn: { Endpoints: isEndpointsOn === true, EndpointSlice: below(ours, 'endpointSlices', 'enabled') === true },
      patches: { Endpoints: entries('endpoints'), EndpointSlice: entries('endpointSlices') },
      isMirrored: below(ours, 'endpointSlices', 'mirrored') === true,
      dropsNodeName: textBelow(ours, 'endpointSlices', 'nodeName') === 'drop',
      setsOwner: below(whole, 'experimental', 'syncSettings', 'setOwner') !== false && !naming.isMapped,
      flowsBack: textBelow(ours, 'backSync') !== 'none',
      isExcludedLabel: patternTest(listBelow(ours, 'exclude', 'labels')),
      isExcludedAnnotation: patternTest(listBelow(ours, 'exclude', 'annotations')),
      allow: texts(listBelow(ours, 'addressPolicy', 'allow')),
      deny: texts(listBelow(ours, 'addressPolicy', 'deny')),
      allowsNames: textBelow(ours, 'addressPolicy', 'fqdn') === 'allow',
      exports: {
        Secret: below(toHost, 'secrets', 'enabled') === true,
        ConfigMap: below(toHost, 'configMaps', 'enabled') === true,
      },
      longReferences: textBelow(ours, 'references', 'naming') === 'vcluster',
    };
  });
}
