// Translates and merges labels as a pass does, from pairs of keys and values.
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { type BaseEntry, hashOf } from '../../../../src/sync/plan/keys/base.ts';
import { labelRules } from '../../../../src/sync/plan/keys/key-rules.ts';
import { type KeyMergeInput, mergeKeys } from '../../../../src/sync/plan/keys/merge-keys.ts';

export const options = {
  virtualCluster: 'suffix',
  mode: 'single',
  backSync: 'all',
  exclude: { labels: [], annotations: [] },
  controllerKeyPrefixes: endpointsKind.controllerKeyPrefixes,
} as const;

export const rules = labelRules(options);

export type Pairs = Record<string, string>;

export function translate(virtual: Pairs): Map<string, string> {
  const host = new Map<string, string>();
  for (const [key, value] of Object.entries(virtual)) {
    const hostKey = rules.toHost(key);
    if (hostKey !== undefined) host.set(hostKey, value);
  }
  return host;
}

/** The base from the last agreement of `virtual` and `host`. */
export function baseFrom(virtual: Pairs, host: Pairs): Map<string, BaseEntry> {
  const keys = new Set([...Object.keys(virtual), ...Object.keys(host).flatMap((key) => rules.toVirtual(key) ?? [])]);
  return new Map(
    [...keys].map((key) => [
      key,
      {
        virtual: hashOf(virtual[key]),
        host: hashOf(host[rules.toHost(key) ?? key]),
        patches: '',
        isMade: false,
        isFromHost: false,
      },
    ]),
  );
}

export function merge(
  virtual: Pairs,
  host: Pairs,
  agreed?: { virtual: Pairs; host: Pairs },
  extra: Partial<KeyMergeInput> = {},
) {
  return mergeKeys({
    virtual: new Map(Object.entries(virtual)),
    desired: translate(virtual),
    host: new Map(Object.entries(host)),
    base: agreed && baseFrom(agreed.virtual, agreed.host),
    rules,
    wasCopied: () => false,
    mayFlowBack: true,
    isPatchSetNew: false,
    ...extra,
  });
}

export const same = (pairs: Pairs) => ({ virtual: pairs, host: pairs });
