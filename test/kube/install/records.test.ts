// The chart's store in a cluster on a real API server: two replicas work with exactly the rights that it grants, behind the policy that
// keeps everybody else from their records, and in the place that its FlowSchema gives them.
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { freePorts } from '../../../src/cli/demo/free-ports.ts';
import { openSecrets } from '../../../src/management/keys/folder/data-folder.ts';
import { nameOf } from '../../../src/store/kubernetes/records/record-format.ts';
import { ApiClient } from '../../contract/client.ts';
import { until } from '../../contract/sync-stage/backend.ts';
import { type KubeCluster, startKube } from '../start/start.ts';
import { Replicas } from '../store/replicas.ts';
import { chart, chartSkipReason, helm, root, run, set } from './helm.ts';
import { PlacedPods } from './placed-pods.ts';

const namespace = 'hostward';
const records = 'hostward-records';
const users = {
  hostward: `system:serviceaccount:${namespace}:hw-hostward-management`,
  backup: 'system:serviceaccount:velero:velero',
  /** May do everything, but for the policy. */
  somebody: 'somebody',
} as const;
type User = keyof typeof users;

const values = [
  ...['sync.enabled=false', 'management.enabled=true', 'management.replicas=2', 'management.store.type=kubernetes'],
  `management.store.writers={${users.backup}}`,
];
/** Only the account of the pods, and only what was answered. */
const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [{ level: 'Metadata', users: [users.hostward] }, { level: 'None' }],
};

const encryption = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'EncryptionConfiguration',
  resources: [
    {
      resources: ['secrets'],
      providers: [{ aescbc: { keys: [{ name: 'a', secret: randomBytes(32).toString('base64') }] } }, { identity: {} }],
    },
  ],
};

interface Checked {
  code: string;
  verdict: string;
  says: string;
  mend?: string;
}

interface Broken {
  name: string;
  /** Of the configuration, after the set-up is broken. */
  path: () => Promise<string>;
  /** What doctor says, by code. */
  finds: Record<string, string>;
  /** What a replica says that does not start on it. */
  starts?: string;
  mend?: () => Promise<unknown>;
}

interface Rule {
  resources: string[];
  verbs: string[];
}

const reason = chartSkipReason();
describe.skipIf(reason !== undefined)(
  `the store of the chart${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  { timeout: 90_000 },
  () => {
    let cluster: KubeCluster;
    let replicas: Replicas;
    let folder: string;
    /** Of replicas that do not start. */
    let ports: readonly number[];
    const clients = new Map<User, ApiClient>();
    const change = (...words: string[]) => run({ kubeconfig: cluster.kubeconfigPath, folder }, helm, ...words);
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'hostward-records-'));
      writeFileSync(join(folder, 'audit.log'), '');
      writeFileSync(join(folder, 'audit.policy'), JSON.stringify(auditPolicy));
      writeFileSync(join(folder, 'encryption.json'), JSON.stringify(encryption));
      const named = Object.entries(users).map(([token, user]) => {
        return { token, user, groups: token === 'hostward' ? ['system:serviceaccounts'] : ['system:masters'] };
      });
      cluster = await startKube({
        name: 'chart-records',
        controllerManager: true,
        users: named,
        apiserverFlags: [
          `--audit-log-path=${join(folder, 'audit.log')}`,
          `--audit-policy-file=${join(folder, 'audit.policy')}`,
          `--encryption-provider-config=${join(folder, 'encryption.json')}`,
        ],
      });
      const { url, caPem } = cluster;
      for (const user of Object.keys(users) as User[]) clients.set(user, new ApiClient({ url, caPem, token: user }));
      await cluster.kubectl('create', 'namespace', namespace);
      expect(await change('install', 'hw', chart, '-n', namespace, ...set(values))).toMatchObject({ code: 0 });
      const kubeconfigPath = join(folder, 'account.kubeconfig');
      writeFileSync(kubeconfigPath, cluster.kubeconfigFor({ token: 'hostward' }), { mode: 0o600 });
      replicas = new Replicas({ kubeconfigPath, url }, records);
      await replicas.start();
      ports = await freePorts(2);
    }, 180_000);
    afterAll(async () => {
      for (const client of clients.values()) await client.close();
      await replicas?.stop();
      await cluster?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const as = (user: User) => clients.get(user) as ApiClient;
    const place = `/api/v1/namespaces/${records}`;
    const secret = (name: string) => ({ metadata: { name }, type: 'Opaque' });
    const record = async () => {
      const { json } = await as('somebody').request('GET', `${place}/secrets`);
      const { items } = json as { items: { metadata: { name: string } }[] };
      return items.map(({ metadata }) => metadata.name).find((name) => name.startsWith('hw-')) as string;
    };
    const merge = { headers: { 'content-type': 'application/merge-patch+json' } };

    it('is used with every verb that its Role grants, and with no other', async () => {
      for (const at of [0, 1]) {
        const made = await replicas.create(at, `used-${at}`);
        const { key } = (made.json as { spec: { key: string } }).spec;
        expect((await replicas.get(1 - at, `used-${at}`, key)).status).toBe(200);
        expect((await replicas.remove(1 - at, `used-${at}`)).status).toBe(200);
      }
      // Uses are written when a replica stops; who has none of before makes a ConfigMap.
      for (const replica of replicas.all) {
        await replica.end();
        expect(replica.output).not.toContain('forbidden');
        await replica.start();
      }
      const used = readFileSync(join(folder, 'audit.log'), 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { verb: string; objectRef?: { resource: string; namespace: string } })
        .filter(({ objectRef }) => objectRef?.namespace === records)
        .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}`);
      const { stdout } = await change(
        ...['template', 'hw', chart, '-n', namespace, '-s', 'templates/management-store.yaml', ...set(values)],
      );
      const granted = parseAllDocuments(stdout)
        .map((document) => document.toJS() as { kind: string; rules: Rule[] })
        .filter(({ kind }) => kind === 'Role')
        .flatMap(({ rules }) => rules)
        .flatMap(({ resources, verbs }) => resources.flatMap((one) => verbs.map((verb) => `${verb} ${one}`)));
      expect([...new Set(used)].sort()).toEqual(granted.sort());
    });

    it('has a place of its own in the queues of the API server', async () => {
      const schema = `hw-hostward-management-${namespace}`;
      const { stdout: uid } = await cluster.kubectl('get', 'flowschema', schema, '-o', 'jsonpath={.metadata.uid}');
      const answer = await as('hostward').request('GET', `${place}/secrets?limit=1`);
      expect(answer.headers['x-kubernetes-pf-flowschema-uid']).toBe(uid);
    });

    const changes: [string, string, () => Promise<string>, object | undefined][] = [
      ['a record', 'PATCH', async () => `secrets/${await record()}`, { metadata: { labels: { a: 'b' } } }],
      ['a record, away', 'DELETE', async () => `secrets/${await record()}`, undefined],
      ['all records, away', 'DELETE', async () => 'secrets', undefined],
      ['a Secret among them', 'POST', async () => 'secrets', secret('other')],
      ['uses of keys', 'POST', async () => 'configmaps', { metadata: { name: 'hostward-uses-forged-0' } }],
      ['the namespace, away', 'DELETE', async () => '', undefined],
    ];
    it.each(changes)('refuses a change of others: %s', async (_, method, path, body) => {
      const under = await path();
      const target = under === '' ? place : `${place}/${under}`;
      const answer = await as('somebody').request(method, target, {
        ...(body && { body }),
        ...(method === 'PATCH' && merge),
      });
      expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('management.store.writers') });
      expect((await replicas.get(0, 'root')).status).toBe(200);
    });

    it('lets everybody change other ConfigMaps there, and other namespaces', async () => {
      const free = { body: { metadata: { name: 'free' } } };
      expect((await as('somebody').request('POST', `${place}/configmaps`, free)).status).toBe(201);
      expect((await as('somebody').request('POST', '/api/v1/namespaces', free)).status).toBe(201);
      expect(
        (await as('somebody').request('POST', '/api/v1/namespaces/free/secrets', { body: secret('x') })).status,
      ).toBe(201);
      expect((await as('somebody').request('DELETE', '/api/v1/namespaces/free')).status).toBe(200);
    });

    it('lets a named backup program write and delete', async () => {
      expect((await as('backup').request('POST', `${place}/secrets`, { body: secret('restored') })).status).toBe(201);
      expect((await as('backup').request('DELETE', `${place}/secrets/restored`)).status).toBe(200);
    });

    const main = join(root, 'src', 'main.ts');
    const doctor = async (configPath: string) => {
      const ended = await run(
        { kubeconfig: cluster.kubeconfigPath, folder },
        process.execPath,
        ...[main, 'doctor', '--config', configPath, '-o', 'json'],
      );
      const { checks } = JSON.parse(ended.stdout) as { checks: Checked[] };
      return checks.filter(({ code }) => /^HW-8(0[4-9]|10|1[3-5])$/.test(code));
    };
    /** A configuration of a replica that does not run, and differs from those that do. */
    const configured = (name: string, change: object = {}, store: object = {}, limits: object = {}) => {
      const path = join(folder, `${name}.yaml`);
      const { hostward } = JSON.parse(readFileSync(replicas.replica(0).configPath, 'utf8'));
      const kubernetes = { ...hostward.management.store.kubernetes, kubeconfig: cluster.kubeconfigPath, ...store };
      const [listen, own] = ports.map((port) => `127.0.0.1:${port}`);
      const management = { ...hostward.management, listen: own, ...change, store: { ...limits, kubernetes } };
      writeFileSync(path, JSON.stringify({ hostward: { listen, management } }));
      return path;
    };

    it('is sound for doctor, which a replica may ask for less than an administrator', async () => {
      await new PlacedPods(as('somebody'), namespace).place('one', 'two');
      expect((await doctor(configured('sound'))).map(({ code, verdict }) => [code, verdict])).toEqual(
        ['804', '805', '806', '807', '808', '809', '810', '813', '814', '815'].map((code) => [`HW-${code}`, 'ok']),
      );
      const own = await doctor(replicas.replica(0).configPath);
      const unchecked = own.filter(({ verdict }) => verdict !== 'ok').map(({ code, verdict }) => [code, verdict]);
      expect(unchecked).toEqual([
        ['HW-808', 'couldNotCheck'],
        ['HW-809', 'couldNotCheck'],
        ['HW-813', 'couldNotCheck'],
        ['HW-814', 'couldNotCheck'],
        ['HW-815', 'couldNotCheck'],
      ]);
    });

    const fresh = (name: string) => ({ dataDir: join(folder, name), secretsDir: join(folder, `${name}-secrets`) });
    const broken: Broken[] = [
      {
        name: 'verbs are missing',
        path: async () => {
          const kubeconfig = join(folder, 'stranger.kubeconfig');
          writeFileSync(kubeconfig, cluster.kubeconfigFor({ token: cluster.strangerToken }), { mode: 0o600 });
          return configured('stranger', fresh('stranger'), { kubeconfig });
        },
        finds: { 'HW-805': 'stranger lacks 12 rights of 12 in namespace hostward-records' },
        starts: 'the account stranger lacks 12 rights of 12 in namespace',
      },
      {
        name: 'the namespace is missing',
        path: async () => configured('nowhere', fresh('nowhere'), { namespace: 'nowhere' }),
        finds: { 'HW-804': 'has no namespace nowhere' },
        starts: 'nowhere',
      },
      {
        name: 'the kubeconfig or the namespace is another one',
        path: async () => {
          await cluster.kubectl('create', 'namespace', 'elsewhere');
          const dataDir = join(folder, 'moved-away');
          cpSync(join(replicas.folder, 'a', 'replica.json'), join(dataDir, 'replica.json'));
          return configured('elsewhere', { dataDir }, { namespace: 'elsewhere' });
        },
        finds: {
          'HW-807': 'has used a store in elsewhere, and no store is there',
          'HW-808': 'no ValidatingAdmissionPolicy protects the namespace elsewhere',
          'HW-813': 'no FlowSchema names the namespace elsewhere',
        },
        starts: 'this replica has used a store there, and no store is there',
      },
      {
        name: 'two installations are on one namespace',
        path: async () => {
          const own = fresh('second');
          mkdirSync(own.secretsDir, { mode: 0o700, recursive: true });
          await openSecrets(own.secretsDir, (count) => randomBytes(count), false);
          const kubeconfig = join(folder, 'writer.kubeconfig');
          writeFileSync(kubeconfig, cluster.kubeconfigFor({ token: 'backup' }), { mode: 0o600 });
          return configured('second', own, { kubeconfig });
        },
        finds: { 'HW-807': 'two installations use one namespace' },
        starts: 'the secrets belong to another server',
      },
      {
        name: 'another program has a Secret there',
        path: async () => {
          await as('backup').request('POST', `${place}/secrets`, { body: secret('theirs') });
          return configured('sound');
        },
        finds: { 'HW-806': '1 Secret of other programs in hostward-records' },
        mend: () => as('backup').request('DELETE', `${place}/secrets/theirs`),
      },
      {
        name: 'a record is of a newer version',
        path: async () => {
          expect((await replicas.create(0, 'newer')).status).toBe(201);
          const wanted = nameOf('/registry/ownedaccesskeys/newer');
          const data = { format: Buffer.from('3').toString('base64') };
          await as('backup').request('PATCH', `${place}/secrets/${wanted}`, { body: { data }, ...merge });
          return configured('sound');
        },
        finds: { 'HW-807': '1 record in hostward-records is of a newer version of Hostward, and lets nobody in' },
        mend: () => as('backup').request('DELETE', `${place}/secrets/${nameOf('/registry/ownedaccesskeys/newer')}`),
      },
      {
        name: 'no budget is there',
        path: async () => {
          await cluster.kubectl('delete', 'poddisruptionbudget', 'hw-hostward-management', '-n', namespace);
          return configured('sound');
        },
        finds: { 'HW-809': '2 replicas use the store, and no PodDisruptionBudget selects' },
      },
      {
        name: 'the cluster takes no more Secrets',
        path: async () => {
          const body = { metadata: { name: 'few' }, spec: { hard: { 'count/secrets': '5' } } };
          await as('somebody').request('POST', `${place}/resourcequotas`, { body });
          await until('a quota that counts', async () => {
            const { json } = await as('somebody').request('GET', `${place}/resourcequotas/few`);
            return (json as { status?: { used?: object } }).status?.used === undefined ? undefined : true;
          });
          const refused = await replicas.create(0, 'too-many');
          expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('so nothing was changed')]);
          expect(replicas.replica(0).output).toContain('exceeded quota: few');
          return configured('sound');
        },
        finds: { 'HW-809': '', 'HW-810': 'the quota few in hostward-records allows 5 count/secrets' },
        mend: () => as('somebody').request('DELETE', `${place}/resourcequotas/few`),
      },
      {
        name: 'the store is full',
        path: async () => {
          for (let n = 0; n < 100; n++) {
            // The API server forgets a quota a moment after its end, and a busy machine makes replicas answer 503.
            const isMade = async () =>
              [201, 409].includes((await replicas.create(n % 2, `many-${n}`)).status) || undefined;
            await until('room', isMade);
          }
          return configured('sound', {}, {}, { maxRecords: 100 });
        },
        finds: { 'HW-809': '', 'HW-810': 'records of 100' },
      },
      {
        name: 'all replicas are on one node',
        path: async () => {
          await new PlacedPods(as('somebody'), namespace).place('one', 'one');
          return configured('sound');
        },
        finds: { 'HW-809': '', 'HW-814': 'all 2 pods of the replicas run on the node one' },
      },
    ];
    it.each(broken)('has doctor name the trouble when $name', async ({ path, finds, starts, mend }) => {
      try {
        const configPath = await path();
        const found = (await doctor(configPath)).filter(({ verdict }) => verdict === 'fault' || verdict === 'warning');
        expect(found.map(({ code }) => code)).toEqual(Object.keys(finds));
        for (const { code, says, mend } of found) {
          expect(says).toContain(finds[code]);
          expect(mend).toBeTruthy();
        }
        if (starts === undefined) return;
        const where = { kubeconfig: cluster.kubeconfigPath, folder };
        const ended = await run(where, process.execPath, main, 'run', '--config', configPath);
        const last = ended.stderr.trim().split('\n').at(-1);
        expect([ended.code, last]).toEqual([3, expect.stringContaining(starts)]);
      } finally {
        await mend?.();
      }
      expect((await replicas.get(0, 'root')).status).toBe(200);
    });

    it('keeps its records when the chart is uninstalled; then its namespace can be deleted', async () => {
      expect(await change('uninstall', 'hw', '-n', namespace, '--wait')).toMatchObject({ code: 0 });
      const left = await cluster.kubectl(
        'get',
        'validatingadmissionpolicies,flowschemas,prioritylevelconfigurations,rolebindings',
        '-A',
        '-o',
        'name',
      );
      expect(left.stdout).not.toContain('hw-hostward');
      expect((await cluster.kubectl('get', `secret/${await record()}`, '-n', records)).code).toBe(0);
      const volumes = await cluster.kubectl('get', 'persistentvolumeclaims', '-n', namespace, '-o', 'name');
      expect(volumes.stdout).toContain('persistentvolumeclaim/hw-hostward-management-secrets');
      await until('an end of the policy', async () => {
        const { status } = await as('somebody').request('DELETE', place);
        return status === 200 || status === 409 ? true : undefined;
      });
      await until('an end of the namespace', async () =>
        (await as('somebody').request('GET', place)).status === 404 ? true : undefined,
      );
    });
  },
);
