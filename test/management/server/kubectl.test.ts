// Unmodified kubectl against `hostward run` with nothing but a management block.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeAssets } from '../../kube/start/assets.ts';
import { kubeconfigOf, prepareProcess, type ServingProcess } from './daemon.ts';

const assets = kubeAssets();
const kubectl = assets.found?.kubectl ?? '';
const reason = assets.found === undefined ? ` (skipped: ${assets.reason})` : '';

let server: ServingProcess;

interface Ran {
  code: number | null;
  out: string;
  err: string;
}

interface RunOptions {
  input?: string;
  env?: object;
  kubeconfig?: string;
  /** Called with all output whenever there is more; `stop` ends a command that would go on. */
  hears?: (out: string, stop: () => void) => void;
}

async function run(args: string, { input, env, kubeconfig, hears }: RunOptions = {}): Promise<Ran> {
  const config = kubeconfig ?? server.kubeconfigPath;
  const child = spawn(
    kubectl,
    args.split(' ').map((part) => part.replaceAll('␣', ' ')),
    {
      env: { HOME: server.folder, KUBECONFIG: config, PATH: '/usr/bin:/bin', ...env },
    },
  );
  let [out, err] = ['', ''];
  child.stdout.on('data', (part) => {
    out += part;
    hears?.(out, () => child.kill());
  });
  child.stderr.on('data', (part) => {
    err += part;
  });
  child.stdin.end(input ?? '');
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

async function good(args: string, how: Parameters<typeof run>[1] = {}): Promise<Ran> {
  const ran = await run(args, how);
  expect(ran, `kubectl ${args}`).toMatchObject({ code: 0 });
  return ran;
}

const manifest = (name: string, spec: object = {}) =>
  JSON.stringify({
    apiVersion: 'management.platform/v1',
    kind: 'OwnedAccessKey',
    metadata: { name },
    spec: { user: 'alice', displayName: 'CI', ttl: 1728000, type: 'User', ...spec },
    status: {},
  });

describe.skipIf(assets.found === undefined)(`kubectl on the management API${reason}`, () => {
  beforeAll(async () => {
    server = await prepareProcess();
    await server.start();
  }, 60_000);
  afterAll(() => server.remove());

  it('finds and explains the resources', async () => {
    expect((await good('api-resources')).out).toMatch(
      /ownedaccesskeys +oak +management.platform\/v1 +false +OwnedAccessKey/,
    );
    expect((await good('explain ownedaccesskeys.spec.ttl')).out).toMatch(/ttl <integer>[\s\S]*Lifetime in seconds/);
    expect((await good('explain ownedaccesskeys.spec.scope --recursive')).out).toContain('requestTargets');
    // kubectl explains no kind of a subresource, so that docs/kubeconfigs.md names this document.
    const { components } = JSON.parse((await good('get --raw /openapi/v3/apis/management.platform/v1')).out);
    const { spec } = components.schemas['management.platform.v1.VirtualClusterInstanceKubeConfig'].properties;
    expect(JSON.stringify(spec)).toMatch(/"certificateTTL":\{[^}]*"description":"Lifetime in seconds/);
    expect((await good('version')).out).toContain('Server Version: v');
  });

  it('creates, prints the value once, and shows tables, YAML and changes', async () => {
    const made = await good('create -f - -o jsonpath={.spec.key}', { input: manifest('ci') });
    expect(made.out).toMatch(/^mpk_\w+$/);
    expect((await good('get oak ci')).out).toMatch(
      /^NAME +OWNER +STATUS +EXPIRES +LAST USED +AGE\nci +alice +Active +19d +<never>/,
    );
    expect((await good('get oak ci -o wide')).out).toMatch(/DISPLAY NAME +TYPE +SCOPE\n.* CI +User +<all>/);
    const yaml = (await good('get oak ci -o yaml')).out;
    expect(yaml).toContain('ttl: 1728000');
    expect(yaml).not.toMatch(/mpk_|hidden/);
    const described = (await good('describe oak ci')).out;
    expect(described).toContain('Display Name:  CI');
    expect(described).toMatch(
      /^Status:\n[\s\S]*Type: +Ready\n[\s\S]*Type: +Expired\n +Expires At: +\d{4}-[\s\S]*Phase: +Active\n/m,
    );
    expect(described).not.toMatch(/mpk_|hidden/);
    const listed = Promise.withResolvers<void>();
    const watched = run('get oak -w', {
      hears: (out, stop) => {
        const rows = out.match(/^ci /gm)?.length ?? 0;
        if (rows > 0) listed.resolve();
        if (rows > 1) stop();
      },
    });
    await listed.promise;
    await good('label oak ci team=red');
    expect((await watched).err).toBe('');
    expect((await good('get oak -l team=red --field-selector spec.user=alice -o name')).out).toBe(
      'ownedaccesskey.management.platform/ci\n',
    );
  });

  it('applies from the client and from the server, shows the difference before, and edits', async () => {
    expect((await good('apply -f -', { input: manifest('applied') })).out).toContain('created');
    const changed = manifest('applied', { displayName: 'Other' });
    const diff = await run('diff -f -', { input: changed });
    expect([diff.code, diff.out]).toEqual([1, expect.stringMatching(/-\s+displayName: CI\n\+\s+displayName: Other/)]);
    expect((await good('apply -f -', { input: changed })).out).toContain('configured');
    expect((await good('apply -f -', { input: changed })).out).toContain('unchanged');
    expect((await good('apply --server-side -f -', { input: changed })).out).toContain('serverside-applied');
    const editor = join(server.folder, 'editor.sh');
    writeFileSync(editor, '#!/bin/sh\nsed -i "s/displayName: Other/displayName: Edited/" "$1"\n', { mode: 0o755 });
    expect((await good('edit oak applied', { env: { KUBE_EDITOR: editor } })).out).toContain('edited');
    expect((await good('get oak applied -o jsonpath={.spec.displayName}')).out).toBe('Edited');
    expect((await good('replace -f -', { input: changed })).out).toContain('replaced');
  });

  it('patches in three languages, annotates, waits and deletes', async () => {
    await good('create -f -', { input: manifest('patched') });
    await good('annotate oak patched note=yes');
    const add = '[{"op":"add","path":"/metadata/annotations/more","value":"x"}]';
    expect((await good(`patch oak patched --type=json -p ${add}`)).out).toContain('patched');
    expect((await good('patch oak patched --type=merge -p {"spec":{"disabled":true}}')).out).toContain('patched');
    expect((await good('patch oak patched -p {"spec":{"displayName":"s"}}')).out).toContain('patched');
    await good('wait oak/patched --for=jsonpath={.spec.disabled}=true --timeout=5s');
    await good('wait oak/patched --for=condition=Ready=false --timeout=5s');
    expect((await good('describe oak patched')).out).toMatch(/Phase: +Disabled/);
    await good('create -f -', { input: manifest('short', { ttl: 2 }) });
    await good('wait oak/short --for=condition=Expired --timeout=30s');
    expect((await good('describe oak short')).out).toMatch(/Phase: +Expired/);
    expect((await good('delete oak patched')).out).toContain('deleted');
    await good('create -f -', { input: manifest('orphan') });
    await good('delete oak orphan --cascade=foreground --wait=true');
    expect(await run('get oak patched')).toMatchObject({ code: 1, err: expect.stringContaining('not found') });
  });

  it('asks about rights, and acts for nobody else', async () => {
    expect((await good('auth can-i create oak')).out).toBe('yes\n');
    expect((await good('auth can-i --list')).out).toContain('*.*');
    expect((await good('auth whoami')).out).toMatch(/Username +admin/);
    expect(await run('get oak --as bob')).toMatchObject({ code: 1, err: expect.stringContaining('Forbidden') });
    // kubectl asks in the namespace of its context, and keys are in none.
    const plain = (await good('create -f - -o jsonpath={.spec.key}', { input: manifest('plain') })).out;
    const alices = join(server.folder, 'plain');
    writeFileSync(alices, kubeconfigOf(server.port, server.caPem, plain), { mode: 0o600 });
    expect((await good('auth can-i create oak', { kubeconfig: alices })).out).toBe('yes\n');
    const scope = { projects: [{ project: 'shop' }] };
    const key = (await good('create -f - -o jsonpath={.spec.key}', { input: manifest('narrow', { scope }) })).out;
    const kubeconfig = join(server.folder, 'narrow');
    writeFileSync(kubeconfig, kubeconfigOf(server.port, server.caPem, key), { mode: 0o600 });
    expect(await run('auth can-i list oak', { kubeconfig })).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^no - no entry of its scope allows list/),
    });
    expect((await good('auth can-i list virtualclusterinstances -n p-shop', { kubeconfig })).out).toBe('yes\n');
    expect((await good('auth can-i --list -n p-shop', { kubeconfig })).out).toMatch(
      /virtualclusterinstances.management.platform +\[\] +\[\] +\[get list watch\]/,
    );
    expect((await good('get virtualclusterinstances -n p-shop', { kubeconfig })).out).toMatch(
      /^NAME +PROJECT +INGRESS +AGE\nv1 +shop/,
    );
    expect(await run('get oak', { kubeconfig })).toMatchObject({
      code: 1,
      err: expect.stringContaining('cannot list resource "ownedaccesskeys"'),
    });
    expect((await good('get oak narrow', { kubeconfig })).out).toContain('narrow');
    // With --wait kubectl would look for the end of the key with the key that has ended.
    expect((await good('delete oak narrow --wait=false', { kubeconfig })).out).toContain('deleted');
  });

  it('creates a direct token, which has no name, without any flag', async () => {
    const token = '{"apiVersion":"management.platform/v1","kind":"DirectClusterEndpointToken","metadata":{},"spec":{}}';
    expect((await good('api-resources')).out).toMatch(
      /directclusterendpointtokens +management.platform\/v1 +false +DirectClusterEndpointToken/,
    );
    expect((await good('explain directclusterendpointtokens.spec.ttl')).out).toMatch(/ttl <integer>[\s\S]*3600/);
    expect((await good('create -f -', { input: token })).out).toContain('created');
    const made = await good('create -f - -o jsonpath={.status.token}', { input: token });
    expect(made.out).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/);
    expect((await good('create -f - --dry-run=server -o jsonpath={.status}', { input: token })).out).toBe('{}');
    expect((await good('auth can-i create directclusterendpointtokens')).out).toBe('yes\n');
    const wrong = token.replace('"spec":{}', '"spec":{"ttl":5}');
    expect(await run('create -f -', { input: wrong })).toMatchObject({
      code: 1,
      err: expect.stringContaining('spec.ttl: Invalid value: 5: must be from 60 to 86400 seconds'),
    });
    const plain = (await good('create -f - -o jsonpath={.spec.key}', { input: manifest('for-tokens') })).out;
    const kubeconfig = join(server.folder, 'for-tokens');
    writeFileSync(kubeconfig, kubeconfigOf(server.port, server.caPem, plain), { mode: 0o600 });
    expect((await good('auth can-i --list', { kubeconfig })).out).toMatch(
      /directclusterendpointtokens.management.platform +\[\] +\[\] +\[create\]/,
    );
    expect(await run('get directclusterendpointtokens')).toMatchObject({
      code: 1,
      err: expect.stringContaining('MethodNotAllowed'),
    });
  });

  it('fetches a kubeconfig of a virtual cluster, and kubectl takes it', async () => {
    const path = 'apis/management.platform/v1/namespaces/p-shop/virtualclusterinstances/v1/kubeconfig';
    const made = await good(`create --raw /${path} -f -`, { input: '{}' });
    const { kubeConfig } = (JSON.parse(made.out) as { status: { kubeConfig: string } }).status;
    const kubeconfig = join(server.folder, 'v1');
    writeFileSync(kubeconfig, kubeConfig, { mode: 0o600 });
    const view = JSON.parse((await good('config view --raw -o json', { kubeconfig })).out) as { users: object[] };
    expect(view).toMatchObject({
      'current-context': 'hostward_shop_v1',
      users: [{ user: { token: expect.stringMatching(/^mpk_/) } }],
    });
  });

  it('is told what is wrong with a manifest', async () => {
    const bad = await run('create -f -', { input: manifest('bad', { ttl: -5, type: 'Robot' }) });
    expect(bad.code).toBe(1);
    expect(bad.err).toMatch(/spec\.ttl: Invalid value: -5[\s\S]*spec\.type: Unsupported value: "Robot"/);
    expect(await run('create -f -', { input: manifest('bad', { zzz: 1 }) })).toMatchObject({
      code: 1,
      err: expect.stringContaining('unknown field "spec.zzz"'),
    });
  });
});
