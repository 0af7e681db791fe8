import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { makeServingCertificate } from '../../../../src/apiserver/tls/certificates.ts';
import { kubeconfigText } from '../../../../src/apiserver/tls/kubeconfig.ts';
import { folderProblem } from '../../../../src/apiserver/tls/secret-files.ts';
import { runCommandLine } from '../../../../src/cli/command-line.ts';
import { makeToken } from '../../../../src/management/keys/secret/token.ts';
import { type SceneOptions, scene } from '../../scene.ts';

/** The clock of a scene stands here. */
const now = new Date('2026-01-01T00:00:00Z');
const [one, two, old] = await Promise.all([
  makeServingCertificate('one', ['localhost'], now),
  makeServingCertificate('two', ['localhost'], now),
  makeServingCertificate('old', ['localhost'], new Date('2014-01-01T00:00:00Z')),
]);
const locked = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase: 'secret',
});
const cluster = { name: 'c', url: 'https://c:6443', caPem: one.caPem, token: 't', user: 'u' };
const kubeconfig = kubeconfigText(cluster);
const base64 = (text: string) => Buffer.from(text).toString('base64');
const withUser = (user: object) =>
  JSON.stringify({ ...JSON.parse(kubeconfig), users: [{ name: 'u', user }] } satisfies Record<string, unknown>);

const files: Record<string, string> = {
  'one.crt': one.certPem,
  'one.key': one.keyPem,
  'two.key': two.keyPem,
  'old.crt': old.certPem,
  'old.key': old.keyPem,
  'damaged.crt': one.certPem.replace(/\n[\w+/]/, '\n='),
  'damaged.key': one.keyPem.replace(/\n[\w+/]{9}/, '\n'),
  'locked.key': locked,
  'turned.crt': two.certPem + one.certPem,
  'text.txt': 'a note\n',
  'good.conf': kubeconfig,
  'list.conf': '- a\n',
  'broken.conf': 'a: [\n',
  'no-context.conf': kubeconfig.replace('"current-context": "c"', '"current-context": "d"'),
  'no-cluster.conf': kubeconfig.replace('"cluster": "c"', '"cluster": "d"'),
  'no-user.conf': kubeconfig.replace('"user": "u"', '"user": "w"'),
  'no-server.conf': kubeconfig.replace('https://c:6443', 'c:6443'),
  'no-ca.conf': kubeconfig.replace(base64(one.caPem), base64('junk')),
  'old-ca.conf': kubeconfig.replace(base64(one.caPem), base64(old.caPem)),
  'other-key.conf': withUser({
    'client-certificate-data': base64(one.certPem),
    'client-key-data': base64(two.keyPem),
  }),
  'no-key.conf': withUser({ 'client-certificate-data': base64(one.certPem) }),
  'old-client.conf': withUser({
    'client-certificate-data': base64(old.certPem),
    'client-key-data': base64(old.keyPem),
  }),
  'no-token-file.conf': withUser({ tokenFile: 'gone' }),
  'good-key.txt': `${makeToken((count) => new Uint8Array(count)).text}\n`,
  'cut-key.txt': 'mpk_000000\n',
};

async function found(management: object, more: Record<string, object> = {}, options: SceneOptions = {}) {
  const text = JSON.stringify({ hostward: { management: { listen: '127.0.0.1:0', ...management }, ...more } });
  const there = Object.fromEntries(Object.entries(files).map(([name, content]) => [`/home/${name}`, content]));
  const { context, out } = scene({ ...options, files: { ...there, '/home/v.yaml': text } });
  const code = await runCommandLine(context, ['check', 'v.yaml', '-o', 'json']);
  const { faults, warnings } = JSON.parse(out()) as Record<'faults' | 'warnings', Record<string, string>[]>;
  const said = (list: Record<string, string>[]) =>
    list.map(({ path, sentence, fix }) => `${path}: ${sentence}; ${fix}`);
  return { code, faults: said(faults), warnings: said(warnings) };
}

const another = 'name another file, or write the right one there';
const renewed = 'get a new kubeconfig from its cluster';
const tls = (certificate: string, key: string) => ({ tls: { certificate, key } });

describe('check on certificates and keys', () => {
  it('says nothing of a good pair', async () => {
    expect(await found(tls('one.crt', 'one.key'))).toEqual({ code: 0, faults: [], warnings: [] });
  });

  it.each([
    [
      tls('one.key', 'one.key'),
      `certificate: "one.key": wanted a certificate in PEM, found a damaged private key; ${another}`,
    ],
    [tls('one.crt', 'one.crt'), `key: "one.crt": wanted a private key in PEM, found a certificate; ${another}`],
    [tls('one.crt', 'text.txt'), `key: "text.txt": wanted a private key in PEM, found a text without PEM; ${another}`],
    [
      tls('one.crt', 'locked.key'),
      `key: "locked.key": wanted a private key in PEM, found a private key with a password; ${another}`,
    ],
    [
      tls('one.crt', 'damaged.key'),
      `key: "damaged.key": wanted a private key in PEM, found a damaged private key; ${another}`,
    ],
    [
      tls('damaged.crt', 'one.key'),
      `certificate: "damaged.crt": wanted a certificate in PEM, found a damaged one (number 1 of 1); ${another}`,
    ],
    [
      tls('one.crt', 'two.key'),
      'key: "two.key": wanted the key of "one.crt", found another; name the two files of one pair',
    ],
    [
      tls('turned.crt', 'one.key'),
      'certificate: "turned.crt": wanted the certificate of the key first, found it as number 2 of 2; put the certificate of the server before those of its authorities',
    ],
  ])('finds what is wrong with %j', async (management, said) => {
    const { code, faults } = await found(management);
    expect(faults).toEqual([`hostward.management.tls.${said}`]);
    expect(code).toBe(1);
  });

  it('warns of a certificate that has expired', async () => {
    expect(await found(tls('old.crt', 'old.key'))).toEqual({
      code: 0,
      faults: [],
      warnings: [
        'hostward.management.tls.certificate: "old.crt": the certificate expired at 2023-12-30T00:00:00.000Z; renew it',
      ],
    });
  });
});

describe('check on kubeconfigs', () => {
  const ofCluster = (kubeconfig: string) => ({ clusters: [{ name: 'c', kubeconfig }] });

  it.each([
    ['good.conf', undefined],
    ['list.conf', 'wanted a map with clusters, users and contexts, found something else; name a kubeconfig file'],
    ['broken.conf', 'it is not YAML: '],
    ['no-context.conf', 'its current-context "d" is not among its contexts; set current-context to "c"'],
    [
      'no-cluster.conf',
      'its context "c" names the cluster "d", which is not in the file; name one of its clusters: "c"',
    ],
    ['no-user.conf', 'its context "c" names the user "w", which is not in the file; name one of its users: "u"'],
    ['no-server.conf', 'the server of cluster "c" is "c:6443", not an http or https address; '],
    ['no-ca.conf', `its CA certificate: wanted a certificate in PEM, found a text without PEM; ${renewed}`],
    ['other-key.conf', `its client key: wanted the key of its client certificate, found another; ${renewed}`],
    ['no-key.conf', `wanted a client key for its client certificate, found none; ${renewed}`],
    ['no-token-file.conf', 'wanted its token in the file "gone", found nothing; correct the path in it'],
  ])('finds what is wrong with %s', async (file, said) => {
    const { code, faults } = await found(ofCluster(file));
    expect(faults).toHaveLength(said === undefined ? 0 : 1);
    if (said !== undefined)
      expect(faults[0]).toContain(`hostward.management.clusters[0].kubeconfig: "${file}": ${said}`);
    expect(code).toBe(said === undefined ? 0 : 1);
  });

  it.each([
    ['old-ca.conf', 'its CA certificate expired at 2023-12-30T00:00:00.000Z; renew it'],
    ['old-client.conf', 'its client certificate expired at 2023-12-30T00:00:00.000Z; renew it'],
  ])('warns of what has expired in %s', async (file, said) => {
    const { faults, warnings } = await found(ofCluster(file));
    expect(faults).toEqual([]);
    expect(warnings).toEqual([`hostward.management.clusters[0].kubeconfig: "${file}": ${said}`]);
  });
});

describe('check on the files of a direct endpoint', () => {
  const direct = (block: object) => ({
    direct: { cluster: 'c', platform: 'https://p', keyFile: 'good-key.txt', ...block },
  });

  it.each([
    [{}, undefined],
    [{ keyFile: 'cut-key.txt' }, 'keyFile: "cut-key.txt": wanted the value of an access key, found one that is cut'],
    [{ keyFile: 'text.txt' }, 'keyFile: "text.txt": wanted the value of an access key, found a text with blanks'],
    [{ certificateAuthority: 'text.txt' }, 'certificateAuthority: "text.txt": wanted a certificate in PEM'],
    [{ kubeconfig: 'list.conf' }, 'kubeconfig: "list.conf": wanted a map'],
    [{ tls: { certificate: 'one.crt', key: 'two.key' } }, 'tls.key: "two.key": wanted the key of "one.crt"'],
  ])('finds what is wrong with %j', async (block, said) => {
    const { faults } = await found({}, direct(block));
    expect(faults).toHaveLength(said === undefined ? 0 : 1);
    if (said !== undefined) expect(faults[0]).toContain(`hostward.direct.${said}`);
  });
});

describe('check on folders', () => {
  it('finds a folder that cannot be made, named or by default', async () => {
    const why = 'its file system is read-only';
    const folderProblems = { '/home/.hostward/management': why, '/data/d': why };
    const sentence = (folder: string) =>
      `wanted a folder that can be written, or made, at "${folder}": ${why}; name another folder, or give --no-files where the files live elsewhere`;
    const direct = { cluster: 'c', platform: 'https://p', keyFile: 'good-key.txt', dataDir: '/data/d' };
    const { code, faults } = await found({}, { direct }, { folderProblems });
    expect(faults.toSorted()).toEqual([
      `hostward.direct.dataDir: ${sentence('/data/d')}`,
      `hostward.management.dataDir: ${sentence('/home/.hostward/management')}`,
    ]);
    expect(code).toBe(1);
  });

  const folder = mkdtempSync(join(tmpdir(), 'folder-'));
  writeFileSync(join(folder, 'file'), '');
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    [folder, undefined],
    [join(folder, 'a/b/c'), undefined],
    [join(folder, 'file'), 'it is a file, not a folder'],
    [join(folder, 'file/below'), 'a part of the path is a file'],
    ['/proc/x/y', 'the system makes no folder there'],
    ['/sys/x', /the system makes no folder there|its file system is read-only|this user may not write there/],
  ])('tells of %s, and makes nothing: %s', async (path, why) => {
    const found = await folderProblem(path);
    if (why instanceof RegExp) expect(found).toMatch(why);
    else expect(found).toBe(why);
    expect(await folderProblem(path)).toBe(found);
  });
});
