// The chart's schema knows the settings, so that Helm refuses a misspelt one before a pod starts with it. UPDATE_GOLDEN=1 writes them again.
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { configurationSchema } from '../../../src/config/settings/table/schema.ts';
import { vclusterDefaults } from '../../../src/config/settings/vcluster-defaults.ts';

interface Node {
  properties: Record<string, Node>;
  [keyword: string]: unknown;
}

const file = new URL('../../../config/chart/values.schema.json', import.meta.url);

/** What the chart writes itself, and what to set in its place: Helm prints the constant, as JSON schema knows no messages. */
const ofTheChart: Readonly<Record<'sync' | 'management', Readonly<Record<string, string>>>> = {
  sync: {
    virtualClusterName: 'set sync.vcluster.name',
    hostNamespace: 'it is the namespace of the release',
    virtualKubeconfig: 'set sync.vcluster.kubeconfigSecret',
    virtualServer: 'set sync.vcluster.server',
    hostKubeconfig: 'the pods use their ServiceAccount',
    leaderElection: 'it is always',
    listen: 'it is 0.0.0.0:9440, which probes and Services need',
  },
  management: {
    listen: 'it is 0.0.0.0:8443, which the Service needs',
    ingressListen: 'it is 0.0.0.0:9443, which the Service needs',
    baseURL: 'set management.baseURL',
    dataDir: 'it is in the volume of the chart',
    secretsDir: 'set management.secrets',
    tls: 'set management.tlsSecret',
  },
};

function refused(of: keyof typeof ofTheChart): Record<string, Node> {
  const entries = Object.entries(ofTheChart[of]).map(([key, instead]) => [
    key,
    { const: `left out, because the chart writes ${key}: ${instead}` },
  ]);
  return Object.fromEntries(entries);
}

/** Of the setting `store` the limits are free. */
function ofStore(store: Node | undefined): Node {
  const kubernetes = { const: 'left out, because the chart writes store.kubernetes: set management.store' };
  return { ...store, properties: { ...store?.properties, kubernetes } } as unknown as Node;
}

/** A whole block of a vcluster.yaml may be there, and nothing else: a misspelt key would leave its patches out. */
function ofToHost(toHost: Node | undefined): Node {
  const others = Object.fromEntries(Object.keys(vclusterDefaults.sync.toHost).map((key) => [key, {}]));
  return {
    ...toHost,
    properties: { ...others, ...toHost?.properties },
    additionalProperties: false,
  } as unknown as Node;
}

/** Helm would print the pattern of all networks, which has 1,551 characters; of a condition it prints what is wanted. */
const longestPattern = 100;
const network = 'a network such as 10.0.0.0/8 or fd00::/8; a single address ends with /32 or /128';

/** Without what only people read, and without patterns that look ahead: Helm's reader of patterns cannot. */
function forHelm(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(forHelm);
  if (typeof node !== 'object' || node === null) return node;
  const kept = Object.entries(node).filter(
    ([key, value]) =>
      !(key === 'description' && typeof value === 'string') &&
      !(key === 'pattern' && typeof value === 'string' && value.includes('(?')),
  );
  const entries = kept.map(([key, value]): [string, unknown] =>
    key === 'pattern' && String(value).length > longestPattern ? ['if', { pattern: value }] : [key, forHelm(value)],
  );
  const made = Object.fromEntries(entries);
  return 'if' in made ? { ...made, else: { const: network } } : made;
}

it('values.schema.json has the settings where the values have them', () => {
  const { hostward, sync } = (configurationSchema() as unknown as Node).properties as { hostward: Node; sync: Node };
  const { management, direct: _, ...ofSync } = hostward.properties;
  const found = JSON.parse(readFileSync(file, 'utf8')) as Node;
  const wanted = structuredClone(found);
  const at = wanted.properties as { sync: Node; management: Node };
  at.sync.properties['hostward'] = forHelm({ ...hostward, properties: { ...ofSync, ...refused('sync') } }) as Node;
  at.sync.properties['toHost'] = forHelm(ofToHost(sync.properties['toHost'])) as Node;
  at.management.properties['configuration'] = forHelm({
    ...management,
    properties: {
      ...management?.properties,
      ...refused('management'),
      store: ofStore(management?.properties['store']),
    },
  }) as Node;
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, `${JSON.stringify(wanted, undefined, 2)}\n`);
  else expect(found).toEqual(wanted);
});
