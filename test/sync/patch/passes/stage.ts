// One patcher over one Endpoints object, forward and back.
import { afterEach } from 'vitest';
import type { PatchEntry } from '../../../../src/config/settings/settings.ts';
import { hostLabelKey } from '../../../../src/object/meta/names.ts';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { projectHostEndpoints, projectVirtualEndpoints } from '../../../../src/sync/kinds/endpoints/items.ts';
import { createRules } from '../../../../src/sync/loop/pass/rules.ts';
import type { TraceEntry } from '../../../../src/sync/patch/entry/pass.ts';
import type { OpenedPatcher } from '../../../../src/sync/patch/run/open-patcher.ts';
import { namespaceLabel, objectKeys } from '../../../../src/sync/plan/keys/reserved-keys.ts';
import { defaultSettings } from '../../fake-sync.ts';
import { entry, openTestPatcher } from '../fake-patch.ts';

export let opened: OpenedPatcher | undefined;

export type Fields = Partial<PatchEntry> & { path: string };

export const thrown = '(() => { throw new Error("no") })()';

export const virtual = projectVirtualEndpoints({
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'u-1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { team: 'a', release: 'r' },
    annotations: { k: 'v', 'hostward.dev/pause': 'false' },
  },
  subsets: [{ addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }], ports: [{ port: 80 }] }],
});

export const place = { namespace: 'vcluster-vc', name: 'web-x-default-x-vc' };

export const host = projectHostEndpoints({
  metadata: {
    ...place,
    uid: 'h-1',
    labels: { team: 'h', own: 'x', [namespaceLabel]: 'default' },
    annotations: { k: 'hk', [objectKeys.uid]: 'u-1', 'hostward.dev/base': 'b' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: 'vc', uid: 'o-1' }],
  },
  subsets: [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ port: 80 }] }],
});

export const release = hostLabelKey('release', 'vc');

export async function begin(entries: readonly Fields[]) {
  const trace: TraceEntry[] = [];
  opened = openTestPatcher(entries.map(entry), (one) => trace.push(one));
  let restored = 0;
  opened.counts.restored = (keys) => {
    restored += keys;
  };
  await opened.start();
  const { patcher, counts } = opened;
  const { translation } = createRules(endpointsKind, defaultSettings, { patcher });
  return { patcher, translation, counts, trace, restored: () => restored };
}

export interface Made {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  ips: string[];
  restored: number;
  lapse: string | undefined;
}

export const before: Made = {
  labels: { team: 'a', [release]: 'r' },
  annotations: { k: 'v' },
  ips: ['10.0.0.1', '10.0.0.2'],
  restored: 0,
  lapse: undefined,
};

/** Call it at the top of a file of tests. */
export function setUp(): void {
  afterEach(() => opened?.stop());
}
