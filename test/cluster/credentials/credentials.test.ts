import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type CredentialsOptions, openCredentials } from '../../../src/cluster/credentials/credentials.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hostward-credentials-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const base64 = (text: string) => Buffer.from(text).toString('base64');

async function kubeconfig(
  parts: { cluster?: object; user?: object; context?: object; rest?: object } = {},
): Promise<string> {
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', ...parts.context } }],
    clusters: [{ name: 'c', cluster: { server: 'https://example.test:6443/', ...parts.cluster } }],
    users: [{ name: 'u', user: { token: ' secret ', ...parts.user } }],
    ...parts.rest,
  };
  const path = join(folder, 'config');
  await writeFile(path, JSON.stringify(document));
  return path;
}

async function open(path: string | undefined, options: Partial<CredentialsOptions> = {}) {
  return openCredentials({ kubeconfig: path, environment: {}, ...options });
}

async function read(path: string | undefined, options: Partial<CredentialsOptions> = {}) {
  const opened = await open(path, options);
  if (opened.kind === 'faults') throw new Error(opened.faults.map((fault) => fault.message).join('\n'));
  return { credentials: opened.credentials, access: await opened.credentials.read() };
}

async function faultsOf(path: string | undefined, options: Partial<CredentialsOptions> = {}): Promise<string[]> {
  const opened = await open(path, options);
  return opened.kind === 'faults'
    ? opened.faults.map((fault) => `${fault.code}: ${fault.message.replaceAll(folder, '…')} -> ${fault.fix}`)
    : [];
}

test('a token, the server and the namespace come from the current context', async () => {
  const { credentials, access } = await read(await kubeconfig({ context: { namespace: 'ns' } }));
  expect(credentials.server).toBe('https://example.test:6443');
  expect(credentials.namespace).toBe('ns');
  expect(credentials.source).toBe(`kubeconfig "${folder}/config", context "here"`);
  expect(access.headers).toEqual({ authorization: 'Bearer secret' });
  expect(access.tls.rejectUnauthorized).toBe(true);
});

test('an auth provider with a token is still taken', async () => {
  const user = { token: undefined, 'auth-provider': { name: 'gcp', config: { 'access-token': 'of the cloud' } } };
  expect((await read(await kubeconfig({ user }))).access.headers).toEqual({ authorization: 'Bearer of the cloud' });
});

test('a given server takes the place of the one in the file, and the certificate authority of the file stays', async () => {
  const cluster = { 'certificate-authority-data': Buffer.from('authority').toString('base64') };
  const server = 'https://my-vcluster.vcluster-my-vcluster.svc';
  const { credentials, access } = await read(await kubeconfig({ cluster }), { server });
  expect([credentials.server, access.server]).toEqual([server, server]);
  expect(access.tls.ca).toBe('authority');
});

test('YAML is read as well, and http servers are allowed', async () => {
  const path = join(folder, 'config.yaml');
  await writeFile(
    path,
    `current-context: here
contexts: [{name: here, context: {cluster: c, user: u}}]
clusters:
- name: c
  cluster: {server: "http://127.0.0.1:8001", insecure-skip-tls-verify: true, tls-server-name: other.test}
users:
- name: u
  user: {username: admin, password: pass}
`,
  );
  const { credentials, access } = await read(path);
  expect(credentials.server).toBe('http://127.0.0.1:8001');
  expect(access.headers).toEqual({ authorization: `Basic ${base64('admin:pass')}` });
  expect(access.tls).toMatchObject({ rejectUnauthorized: false, servername: 'other.test' });
});

test('data and files, relative to the kubeconfig, give the same material', async () => {
  await writeFile(join(folder, 'ca.crt'), 'CA\n');
  await writeFile(join(folder, 'client.crt'), 'CERT\n');
  const path = await kubeconfig({
    cluster: { 'certificate-authority': 'ca.crt' },
    user: { 'client-certificate': 'client.crt', 'client-key-data': base64('KEY') },
  });
  const { access } = await read(path);
  expect(access.tls).toMatchObject({ ca: 'CA', cert: 'CERT', key: 'KEY' });
});

for (const key of ['tokenFile', 'token-file']) {
  test(`${key} is read again each time, trimmed, and wins over token`, async () => {
    await writeFile(join(folder, 'token'), 'first\n');
    const { credentials, access } = await read(await kubeconfig({ user: { [key]: 'token' } }));
    expect(access.headers['authorization']).toBe('Bearer first');
    await writeFile(join(folder, 'token'), '  second\n');
    expect((await credentials.read()).headers['authorization']).toBe('Bearer second');
  });
}

test('a rewritten kubeconfig takes effect at the next reading', async () => {
  const { credentials } = await read(await kubeconfig());
  await kubeconfig({ user: { token: 'rotated' } });
  expect((await credentials.read()).headers['authorization']).toBe('Bearer rotated');
});

test('impersonated groups become separate headers', async () => {
  const { access } = await read(await kubeconfig({ user: { as: 'jane', 'as-groups': ['a', 'b'], 'as-uid': '7' } }));
  expect(access.headers).toMatchObject({
    'impersonate-user': 'jane',
    'impersonate-group': ['a', 'b'],
    'impersonate-uid': '7',
  });
});

describe('in the cluster', () => {
  const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };

  async function mount(): Promise<string> {
    const account = join(folder, 'var/run/secrets/kubernetes.io/serviceaccount');
    await mkdir(account, { recursive: true });
    await writeFile(join(account, 'token'), 'pod-token\n');
    await writeFile(join(account, 'ca.crt'), 'CA');
    await writeFile(join(account, 'namespace'), 'vc-ns\n');
    return account;
  }

  test('the service account of the pod is used', async () => {
    await mount();
    const { credentials, access } = await read(undefined, { environment, rootFolder: folder });
    expect(credentials.server).toBe('https://[fd00::1]:443');
    expect(credentials.namespace).toBe('vc-ns');
    expect(access.headers).toEqual({ authorization: 'Bearer pod-token' });
    expect(access.tls.ca).toBe('CA');
  });

  test('a half-written token is a fault of one reading, and the next reading succeeds', async () => {
    const account = await mount();
    const { credentials } = await read(undefined, { environment, rootFolder: folder });
    await writeFile(join(account, 'token'), '');
    await expect(credentials.read()).rejects.toThrow('the file is empty');
    await writeFile(join(account, 'token'), 'new');
    expect((await credentials.read()).headers['authorization']).toBe('Bearer new');
  });

  test('outside a pod the fault names the missing variables', async () => {
    expect(await faultsOf(undefined)).toEqual([
      'CLUSTER_NOT_IN_CLUSTER: looking for in-cluster credentials: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is not a pod -> run in a pod, or name a kubeconfig file',
    ]);
  });
});

describe('exec plugins', () => {
  async function plugin(script: string): Promise<string> {
    const path = join(folder, 'plugin.sh');
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
    return path;
  }
  const credential = (status: object) => `cat <<'X'\n${JSON.stringify({ kind: 'ExecCredential', status })}\nX`;

  test('supply a token, certificates and their expiry', async () => {
    const command = await plugin(
      credential({
        token: 'T',
        clientCertificateData: 'C',
        clientKeyData: 'K',
        expirationTimestamp: '2030-01-01T00:00:00Z',
      }),
    );
    const { access } = await read(await kubeconfig({ user: { token: undefined, exec: { command } } }), {
      environment: { PATH: '/usr/bin:/bin' },
    });
    expect(access).toMatchObject({
      from: 'plugin',
      headers: { authorization: 'Bearer T' },
      tls: { cert: 'C', key: 'K' },
      expiresAtMs: Date.parse('2030-01-01T00:00:00Z'),
    });
  });

  test('receive arguments, their own environment and KUBERNETES_EXEC_INFO', async () => {
    const command = await plugin(
      `echo "{\\"kind\\":\\"ExecCredential\\",\\"status\\":{\\"token\\":\\"$1-$MINE-$THEIRS-$(echo "$KUBERNETES_EXEC_INFO" | grep -o client.authentication.k8s.io/v1)\\"}}"`,
    );
    const exec = {
      command,
      args: ['arg'],
      env: [{ name: 'THEIRS', value: 'b' }],
      apiVersion: 'client.authentication.k8s.io/v1',
    };
    const { access } = await read(await kubeconfig({ user: { token: undefined, exec } }), {
      environment: { PATH: '/usr/bin:/bin', MINE: 'a' },
    });
    expect(access.headers['authorization']).toBe('Bearer arg-a-b-client.authentication.k8s.io/v1');
  });

  test('that fail, are missing or print something else cause a fault that quotes them', async () => {
    const failing = await plugin('echo "please log in" >&2; exit 7');
    const config = (command: string) => kubeconfig({ user: { token: undefined, exec: { command } } });
    expect((await faultsOf(await config(failing)))[0]).toContain('it ended with 7: please log in');
    expect((await faultsOf(await config('/no/such/plugin')))[0]).toContain('there is no program of that name ->');
    const silent = await plugin('exit 3');
    expect((await faultsOf(await config(silent)))[0]).toContain('it ended with 3 ->');
    const chatty = await plugin('echo hello');
    expect((await faultsOf(await config(chatty)))[0]).toContain('wanted an ExecCredential with a status');
  });
});

describe('each fault of a kubeconfig has a sentence and a fix', () => {
  test('a missing file', async () => {
    expect(await faultsOf(join(folder, 'nowhere'))).toEqual([
      'CLUSTER_KUBECONFIG_UNREADABLE: reading kubeconfig "…/nowhere": there is no such file -> name a kubeconfig file that exists and can be read',
    ]);
  });

  test('a directory', async () => {
    expect((await faultsOf(folder))[0]).toContain('it is a directory, not a file');
  });

  test('bad YAML, with its line', async () => {
    await writeFile(join(folder, 'config'), 'users:\n- token: secret: x\n');
    const [fault] = await faultsOf(join(folder, 'config'));
    expect(fault).toMatch(/it is not YAML: .* at line 2, column 10 ->/);
    expect(fault).not.toContain('secret');
  });

  test('a document that is not a map, and one with exploding aliases', async () => {
    await writeFile(join(folder, 'config'), '- 1\n');
    expect((await faultsOf(join(folder, 'config')))[0]).toContain('wanted a map with clusters');
    const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]'];
    for (let level = 0; level < 8; level++) {
      const [from, to] = [String.fromCharCode(97 + level), String.fromCharCode(98 + level)];
      bomb.push(`${to}: &${to} [${Array.from({ length: 9 }, () => `*${from}`).join(',')}]`);
    }
    await writeFile(join(folder, 'config'), bomb.join('\n'));
    expect((await faultsOf(join(folder, 'config')))[0]).toContain('it is not usable YAML');
  });

  test('no current context', async () => {
    const path = await kubeconfig({ rest: { 'current-context': '' } });
    expect(await faultsOf(path)).toEqual([
      'CLUSTER_CONTEXT_MISSING: reading kubeconfig "…/config": it has no current-context -> set current-context to "here"',
    ]);
  });

  test('a kubeconfig without any context', async () => {
    const path = await kubeconfig({ rest: { 'current-context': '', contexts: [] } });
    expect(await faultsOf(path)).toEqual([
      'CLUSTER_CONTEXT_MISSING: reading kubeconfig "…/config": it has no current-context -> add a context, and name it as current-context',
    ]);
  });

  test('a current context that does not exist', async () => {
    const path = await kubeconfig({ rest: { 'current-context': 'there' } });
    expect((await faultsOf(path))[0]).toContain('its current-context "there" is not among its contexts');
  });

  test('a context with an unknown cluster and an unknown user: both faults at once', async () => {
    const faults = await faultsOf(await kubeconfig({ context: { cluster: 'x', user: 'y' } }));
    expect(faults).toHaveLength(2);
    expect(faults[0]).toContain('names the cluster "x", which is not in the file -> name one of its clusters: "c"');
    expect(faults[1]).toContain('names the user "y", which is not in the file -> name one of its users: "u"');
  });

  test('a server that is not an address', async () => {
    expect((await faultsOf(await kubeconfig({ cluster: { server: 'example.test:6443' } })))[0]).toContain(
      'the server of cluster "c" is "example.test:6443", not an http or https address',
    );
  });

  test.each([
    ['https://admin:pass word@example.test', 'an address with a user'],
    ['https://admin@example.test', 'an address with a user'],
    ['admin:pass@example.test:6443', 'not an http or https address'],
  ])('a server with a user, whose password is not repeated: %s', async (server, why) => {
    const [fault] = await faultsOf(await kubeconfig({ cluster: { server } }));
    expect(fault).toContain(why);
    expect(fault).toContain('…@example.test');
    expect(fault).not.toMatch(/admin|pass(?!word)/);
  });

  test.each<[string, object | undefined, string]>([
    ['ldap', {}, '"ldap" of user "u": wanted one of oidc, gcp, azure'],
    ['gcp', undefined, 'no access-token; wanted it, or cmd-path, token-key and expiry-key to get one'],
    ['azure', { 'cmd-path': '/bin/true' }, 'no access-token; wanted it, or cmd-path, token-key and expiry-key'],
    ['gcp', { 'access-token': 'x', expiry: '2001-01-01', 'cmd-path': '/bin/true' }, 'holds no token'],
    ['oidc', { 'client-id': 'x' }, 'its config has no id-token -> log in again'],
    ['oidc', { 'id-token': 'no.jwt' }, 'its token has ended; wanted client-id, refresh-token and idp-issuer-url'],
  ])('the auth provider %s with %j', async (name, config, says) => {
    const user = { token: undefined, 'auth-provider': { name, config } };
    const faults = await faultsOf(await kubeconfig({ user }));
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(`asking the auth provider "${name}" of user "u": `);
    expect(faults[0]).toContain(says);
    expect(faults[0]).not.toMatch(/undefined|null|JSON|Unexpected/);
  });

  test.each(['socks5://u:secret@proxy.test:1080', 'u:secret@proxy.test:3128'])(
    'a proxy of another kind: %s',
    async (url) => {
      const [fault] = await faultsOf(await kubeconfig({ cluster: { 'proxy-url': url } }));
      expect(fault).toContain('…@proxy.test');
      expect(fault).toContain('not an http or https address -> write it like http://proxy:3128');
      expect(fault).not.toContain('secret');
    },
  );

  test('a token of two lines', async () => {
    expect(await faultsOf(await kubeconfig({ user: { token: 'one\ntwo' } }))).toEqual([
      'CLUSTER_CREDENTIALS_UNREADABLE: the token of user "u" has a line break or another character that no token has -> write the token as its cluster gave it, in one line',
    ]);
  });

  test('a client certificate without a key, of which kubectl says the same', async () => {
    const faults = await faultsOf(await kubeconfig({ user: { 'client-certificate-data': base64('CERT') } }));
    expect(faults).toEqual([
      'CLUSTER_CREDENTIALS_UNREADABLE: user "u" has a client certificate and no key for it -> add its client-key or client-key-data, or get a new kubeconfig from its cluster',
    ]);
  });

  test('unreadable certificate files: all faults at once', async () => {
    const faults = await faultsOf(
      await kubeconfig({
        cluster: { 'certificate-authority': 'ca' },
        user: { 'client-certificate': 'c', 'client-key': folder },
      }),
    );
    expect(faults.map((fault) => fault.replace(/ ->.*/, ''))).toEqual([
      'CLUSTER_CREDENTIALS_UNREADABLE: reading the CA certificate "…/ca": there is no such file',
      'CLUSTER_CREDENTIALS_UNREADABLE: reading the client certificate "…/c": there is no such file',
      'CLUSTER_CREDENTIALS_UNREADABLE: reading the client key "…": it is a directory, not a file',
    ]);
  });
});
