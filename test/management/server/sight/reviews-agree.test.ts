// A review of the own rights and the request that it is about: what one says, the other does. Asked of random scopes, with the body that
// has the best prospects: a refusal that no body escapes is one of the rights.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { covers } from '../../../../src/apiserver/request/access-rules.ts';
import { managementGroup } from '../../../../src/management/scope/request.ts';
import { few, scopeValues } from '../../scope/random-scopes.ts';
import { shop } from '../../scope/scopes.ts';
import { type Bench, type Body, keysPath, openBench } from '../bench.ts';

const root = '/kubernetes/management';
const group = `${root}/apis/${managementGroup}/v1`;
const instances = (project: string) => `${group}/namespaces/p-${project}/virtualclusterinstances`;

interface Asked {
  verb: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
  /** One of them is the right one. */
  sent: readonly { method: string; path: string; body?: object; type?: string }[];
}

const patch = { method: 'PATCH', type: 'application/merge-patch+json' };
const dryRun = '?dryRun=All';

/** Everything that is served about keys, instances, tokens, revocations and reports. */
function requests(own: string, others: readonly string[]): Asked[] {
  const keys = { resource: 'ownedaccesskeys' };
  const made = [{}, { scope: {} }, { team: 'blue', scope: {} }, { user: 'alice', scope: {} }].map((spec) => ({
    ...{ method: 'POST', path: keysPath + dryRun, body: { metadata: { generateName: 'x-' }, spec } },
  }));
  const changes = [{ displayName: 'x' }, { scope: {} }].map((spec) => ({ spec }));
  const ofKeys = [own, ...others].flatMap((name): Asked[] => {
    const path = `${keysPath}/${name}`;
    return [
      { ...keys, name, verb: 'get', sent: [{ method: 'GET', path }] },
      { ...keys, name, verb: 'patch', sent: changes.map((body) => ({ ...patch, path: path + dryRun, body })) },
      { ...keys, name, verb: 'delete', sent: [{ method: 'DELETE', path: path + dryRun }] },
      {
        ...{ ...keys, name, verb: 'create', subresource: 'rotate' },
        sent: [{ method: 'POST', path: `${path}/rotate${dryRun}`, body: {} }],
      },
    ];
  });
  const ofInstances = ['a', 'b'].flatMap((project): Asked[] => {
    const about = { resource: 'virtualclusterinstances', namespace: `p-${project}` };
    const path = instances(project);
    return [
      { ...about, verb: 'list', sent: [{ method: 'GET', path }] },
      { ...about, verb: 'get', name: 'v', sent: [{ method: 'GET', path: `${path}/v` }] },
      {
        ...{ ...about, verb: 'create', name: 'v', subresource: 'kubeconfig' },
        sent: [{}, { clientCert: true }].map((spec) => ({
          ...{ method: 'POST', path: `${path}/v/kubeconfig${dryRun}`, body: { spec } },
        })),
      },
    ];
  });
  const reports = ['c1', 'c2'].map((cluster) => ({
    ...{ method: 'POST', path: `${group}/agentreports${dryRun}`, body: { spec: { cluster } } },
  }));
  return [
    { ...keys, verb: 'list', sent: [{ method: 'GET', path: keysPath }] },
    { ...keys, verb: 'deletecollection', sent: [{ method: 'DELETE', path: keysPath + dryRun }] },
    { ...keys, verb: 'create', sent: made },
    ...ofKeys,
    ...ofInstances,
    {
      ...{ resource: 'directclusterendpointtokens', verb: 'create' },
      sent: [{ method: 'POST', path: `${group}/directclusterendpointtokens${dryRun}`, body: {} }],
    },
    { resource: 'revocations', verb: 'list', sent: [{ method: 'GET', path: `${group}/revocations` }] },
    { resource: 'agentreports', verb: 'create', sent: reports },
  ];
}

const patterns = fc.constantFrom(
  ...['*', 'virtualclusterinstances', 'virtualclusterinstances/kubeconfig', '*/kubeconfig', '*/rotate'],
  ...['ownedaccesskeys', 'ownedaccesskeys/rotate', 'ownedaccesskeys/*', 'revocations', 'agentreports'],
);
/** Rules about the management API, which random rules seldom meet. */
const ownRules = fc.record({
  verbs: few(fc.constantFrom('get', 'list', 'create', 'patch', 'delete'), 2),
  resources: few(fc.record({ group: fc.constant(managementGroup), resources: few(patterns, 1) }), 1),
  namespaces: few(fc.constantFrom('', 'p-a'), 1),
  requestTargets: few(fc.constantFrom('Management', 'ProjectVirtualCluster'), 2),
});
const scoped = fc.oneof(
  { weight: 1, arbitrary: scopeValues },
  { weight: 2, arbitrary: fc.record({ rules: fc.array(ownRules, { minLength: 1, maxLength: 2 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      rules: fc.array(ownRules, { minLength: 1, maxLength: 2 }),
      virtualClusters: few(fc.constant({ project: 'a', virtualCluster: 'v' }), 1),
      projects: few(fc.record({ project: fc.constantFrom('a', 'b', '*') }), 1),
    }),
  },
  { weight: 1, arbitrary: fc.constant(undefined) },
);
const owners = fc.constantFrom<object>(
  ...[{ user: 'alice' }, { user: 'alice' }, { user: 'vera' }, { user: 'root' }, { team: 'red' }],
  ...[{ subject: 'robot' }, { subject: 'robot', groups: ['devs'] }, { user: 'alice', groups: ['ops'] }],
);
const rounds = Number(process.env['HOSTWARD_REVIEWED_SCOPES'] ?? 20);

describe('a review of the own rights', () => {
  let bench: Bench;
  beforeAll(async () => {
    const { settings } = shop;
    const clientCert = { clusterRole: 'cluster-admin', maxTTL: 0 };
    const ingress = { server: 'https://v.example.com', servedBy: 'virtualCluster' as const };
    const projects = settings.projects.map((project) => ({
      ...project,
      virtualClusters: project.virtualClusters.map((one) => ({ ...one, ingress, clientCert })),
    }));
    bench = await openBench({ settings: { ...settings, projects, keys: { ...settings.keys, perOwner: 5_000 } } });
  });
  afterAll(() => bench.stop());

  const review = async (key: string, kind: string, spec: object): Promise<Body> => {
    const path = `${root}/apis/authorization.k8s.io/v1/${kind}`;
    const { code, body, text } = await bench.ask('POST', path, { key, body: { spec } });
    if (code !== 201) throw new Error(`a review was answered ${code}: ${text}`);
    return body['status'] as Body;
  };

  async function differences(key: string, own: string, others: readonly string[]): Promise<string[]> {
    const found: string[] = [];
    const rules = new Map<string, Body[]>();
    for (const namespace of ['default', 'p-a', 'p-b']) {
      const { resourceRules } = await review(key, 'selfsubjectrulesreviews', { namespace });
      rules.set(namespace, resourceRules as unknown as Body[]);
    }
    for (const asked of requests(own, others)) {
      const { sent, ...about } = asked;
      const { subresource = '', namespace = '', name = '' } = about;
      const attributes = { group: managementGroup, version: 'v1', ...about, subresource, namespace, name };
      const { allowed, reason } = await review(key, 'selfsubjectaccessreviews', { resourceAttributes: attributes });
      const answers = [];
      for (const { method, path, ...how } of sent) answers.push(await bench.ask(method, path, { key, ...how }));
      const isRefused = answers.every(({ code }) => code === 403);
      const isHidden = answers.every(({ code }) => code === 404);
      const listed = (rules.get(namespace === '' ? 'default' : namespace) ?? []).some((rule) =>
        covers(rule as never, { ...attributes, isResource: true, path: '', query: new URLSearchParams() } as never),
      );
      const what = `${asked.verb} ${asked.resource}/${subresource} ${name} ${namespace}`;
      const told = answers.map(({ code, body }) => `${code} ${body['message'] ?? ''}`).join(' | ');
      if (isHidden) continue;
      if (Boolean(allowed) === isRefused) found.push(`${what}: review ${allowed} (${reason}), request ${told}`);
      const request = `${sent[0]?.method} ${sent[0]?.path}`;
      const query = new URLSearchParams({ key: own, request });
      const explained = (await bench.ask('GET', `${root}/hostward/explain?${query}`)).body;
      if (explained['allowed'] !== allowed) found.push(`${what}: review ${allowed}, explained ${explained['reason']}`);
      // A list of rules cannot leave out single names.
      const isWider = subresource === 'rotate' && listed;
      if (!isWider && listed === isRefused) found.push(`${what}: rules ${listed}, request ${told}`);
    }
    return found;
  }

  it(
    'says yes exactly where a request with some body is not refused, and so do the list of rules and an explanation',
    async () => {
      const others = ['of-alice', 'of-alice-wide', 'of-alice-group', 'of-alice-v', 'of-red', 'of-bob'];
      const specs: object[] = [
        ...[{ user: 'alice', scope: {} }, { user: 'alice' }, { user: 'alice', scope: {}, groups: ['ops'] }],
        ...[{ user: 'alice', scope: { virtualClusters: [{ project: 'a', virtualCluster: 'v' }] } }, { team: 'red' }],
        { user: 'bob' },
      ];
      for (const [at, name] of others.entries()) await bench.keyFor(name, specs[at]);
      const drawn = fc.sample(fc.record({ owner: owners, scope: scoped }), { numRuns: rounds, seed: 7 });
      const different: string[] = [];
      let asked = 0;
      for (const [at, { owner, scope }] of drawn.entries()) {
        const spec = { ...owner, ...(scope === undefined ? {} : { scope }) };
        const name = `own-${at}`;
        const { code, body } = await bench.ask('POST', keysPath, { body: { metadata: { name }, spec } });
        // A scope that nobody may have.
        if (code === 422) continue;
        asked++;
        const found = await differences(String(body['spec']?.['key']), name, others);
        different.push(...found.map((line) => `${JSON.stringify(spec)}\n  ${line}`));
      }
      expect(asked).toBeGreaterThan(rounds / 2);
      expect(different.slice(0, 12).join('\n')).toBe('');
    },
    30_000 + rounds * 2_000,
  );
});
