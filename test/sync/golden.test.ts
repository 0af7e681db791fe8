import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/object/meta/object.ts';
import { endpointsKind } from '../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createRules } from '../../src/sync/loop/pass/rules.ts';
import { renderHost } from '../../src/sync/report/render.ts';
import { expectedHost, type Golden, type GoldenCase } from './golden.ts';

const golden: Golden = JSON.parse(readFileSync(new URL('../../fixtures/sync/golden.json', import.meta.url), 'utf8'));
const rules = createRules(endpointsKind, {
  virtualClusterName: golden.vcluster,
  hostNamespace: golden.hostNamespace,
  backSync: 'all',
  exclude: { labels: [], annotations: [] },
  addressPolicy: { allow: [], deny: [] },
});

function render(one: GoldenCase): KubeObject | null {
  const input = [one.virtual.service, one.virtual.endpoints].filter((object) => object !== null);
  const { objects } = renderHost(input, {
    translation: rules.translation,
    policy: rules.policy,
    ownerUid: one.ownerServiceUid,
    setOwner: true,
    withBookkeeping: false,
  });
  return objects[0]?.host ?? null;
}

describe('render() gives the host object that vCluster wrote', () => {
  // For render an Endpoints without a Service counts as eligible, unlike in the live sync (rule 2).
  const created = golden.cases.filter((one) => one.before === undefined && one.name !== 'dotted-name-no-service');
  it.each(created)('$name', (one) => {
    const { host, rule } = expectedHost(one);
    expect(render(one), rule).toEqual(host);
  });
});
