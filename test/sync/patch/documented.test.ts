import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { endpointsKind } from '../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createRules } from '../../../src/sync/loop/pass/rules.ts';
import { openPatcher } from '../../../src/sync/patch/run/open-patcher.ts';
import { compilePatchSet } from '../../../src/sync/patch/set/patch-set.ts';
import { rehearse } from '../../../src/sync/report/rehearse.ts';
import { InProcessSandbox } from '../../expression/in-process-sandbox.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { defaultSettings } from '../fake-sync.ts';
import { entry } from './fake-patch.ts';

interface Example {
  example: number | string;
  where: string;
  path: string;
  expression?: string;
  object: { metadata?: KubeObject['metadata'] };
  onMissing?: 'create';
  virtualObject?: object;
  ours?: { metadata?: KubeObject['metadata'] };
}

const examples: Example[] = JSON.parse(
  readFileSync(new URL('../../../fixtures/expression/vcluster-examples.json', import.meta.url), 'utf8'),
);
const names = { virtualClusterName: 'vcluster', hostNamespace: 'vcluster-ns' };

async function hostOf({ path, expression = '', onMissing, object }: Example) {
  const patch = entry({ path, expression, ...(onMissing && { onMissing }) });
  const compiled = compilePatchSet([{ index: 0, entry: patch }], endpointsKind);
  const opened = openPatcher({
    settings: { ...names, vcluster: {} },
    set: compiled.set,
    mappings: undefined,
    openSandbox: (setup) => new InProcessSandbox(setup),
    clock: new VirtualClock(),
  });
  await opened.start();
  const metadata = { ...object.metadata, name: 'web', namespace: 'default' };
  const [rehearsed] = await rehearse({
    virtual: [{ apiVersion: 'v1', kind: 'Endpoints', metadata }],
    services: [],
    host: [],
    rules: createRules(endpointsKind, { ...defaultSettings, ...names }, { patcher: opened.patcher }),
    ownerUid: undefined,
    assumesAgreement: false,
  });
  await opened.stop();
  return rehearsed;
}

const own = (map: Record<string, string> | undefined) =>
  Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !/^(vcluster\.loft\.sh|hostward\.dev)\//.test(key)));

describe('documented examples that an Endpoints can have, through the whole of the sync', () => {
  const fitting = examples.filter(
    ({ path, ours, expression, virtualObject }) =>
      // Those that look at another object than the one they change are for the room of expressions.
      /^metadata\.(labels|annotations)/.test(path) && ours && expression !== undefined && virtualObject === undefined,
  );

  it('are many', () => {
    expect(fitting.length).toBeGreaterThan(15);
  });

  it.each(fitting.map((one) => [one.example, one.where, one] as const))('%s, %s', async (_, __, example) => {
    const { outcome, host } = (await hostOf(example)) ?? {};
    expect(outcome?.kind).toBe('inSync');
    expect(own(host?.metadata.labels)).toEqual(example.ours?.metadata?.labels ?? {});
    expect(own(host?.metadata.annotations)).toEqual(example.ours?.metadata?.annotations ?? {});
  });
});
