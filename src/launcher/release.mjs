// `npm run release -- --version V`: makes everything that a version is published as in one folder, from a clean tree. Wants what
// `npm run image` wants. It publishes nothing.
import { execFileSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { readFileSync, renameSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeFolderAnew } from './image/make-folder.ts';
import { runScript, UsageFault } from './launch.mjs';
import { writeRelease } from './release/release.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

const help = `usage: npm run release -- --version VERSION [--key FILE] [--out FOLDER] [--mirror URL]

Makes package, image, chart, manifests, list of parts, provenance, checksums and notes of a version in one folder.
The tree must be clean, and bear the version already. The same commit gives the same files.

  --version VERSION  as in package.json and in config/chart/Chart.yaml
  --key FILE         signs with this private key: ECDSA P-256, PEM (HOSTWARD_KEY_PASSPHRASE opens an encrypted one)
  --out FOLDER       where the files go, by default release/VERSION; an earlier release there is replaced
  --mirror URL       a mirror of Debian, by default the one that apt uses on this machine
`;

runScript(run);

function run() {
  const { values } = parseArgs({
    options: {
      version: { type: 'string' },
      key: { type: 'string' },
      out: { type: 'string' },
      mirror: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return process.stdout.write(help);
  const { version } = values;
  if (version === undefined) throw new UsageFault('which version? Give --version, as in package.json');
  checkVersion(version);
  const key = values.key === undefined ? undefined : readKey(values.key);
  checkClean();
  const folder = values.out ?? join(root, 'release', version);
  const created = Number(process.env.SOURCE_DATE_EPOCH || git('log', '-1', '--format=%ct'));
  makeFolderAnew('--out', folder, { what: 'earlier release', of: /^(hostward-.*\.tgz|SHA256SUMS)$/ });
  say('npm', 'pack', '--silent', '--pack-destination', folder);
  renameSync(join(folder, `hostward-${version}.tgz`), join(folder, `hostward-npm-${version}.tgz`));
  const mirror = values.mirror === undefined ? [] : ['--mirror', values.mirror];
  const image = say(
    process.execPath,
    join(root, 'src', 'launcher', 'image.mjs'),
    '--out',
    join(folder, 'image'),
    ...mirror,
  );
  const imageDigest = /sha256:[0-9a-f]{64}/.exec(image)?.[0] ?? '';
  const builderVersions = { node: process.versions.node };
  writeRelease({
    root,
    folder,
    version,
    revision: git('rev-parse', 'HEAD'),
    created,
    imageDigest,
    key,
    builderVersions,
  });
  const signed = key === undefined ? 'unsigned: no --key was given' : `signed with ${values.key}`;
  process.stdout.write(`${relative(process.cwd(), folder) || '.'}\nimage ${imageDigest}\n${signed}\n`);
}

function checkVersion(version) {
  const places = {
    'package.json': JSON.parse(read('package.json')).version,
    'config/chart/Chart.yaml, version': /^version: (.*)$/m.exec(read('config/chart/Chart.yaml'))?.[1],
    'config/chart/Chart.yaml, appVersion': /^appVersion: "?([^"\n]*)"?$/m.exec(read('config/chart/Chart.yaml'))?.[1],
    'config/deployment.yaml, image': /image: hostward:(\S+)/.exec(read('config/deployment.yaml'))?.[1],
  };
  const others = Object.entries(places).filter(([, found]) => found !== version);
  const [[place, found] = []] = others;
  if (place !== undefined)
    throw new Error(`wanted version "${version}" in ${place}, found "${found}": write it there and commit`);
}

function readKey(path) {
  let key;
  try {
    key = createPrivateKey({ key: readFileSync(path), passphrase: process.env.HOSTWARD_KEY_PASSPHRASE });
  } catch (fault) {
    throw new Error(
      `cannot read the key "${path}": ${fault.code === 'ENOENT' ? 'there is no such file' : 'want a private key in PEM; HOSTWARD_KEY_PASSPHRASE opens an encrypted one'}`,
    );
  }
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new Error(
      `the key "${path}" is no ECDSA key on P-256: openssl ecparam -name prime256v1 -genkey -noout makes one`,
    );
  return key;
}

function checkClean() {
  const changes = git('status', '--porcelain')
    .split('\n')
    .filter((line) => line !== '');
  if (changes.length === 0) return;
  const more = changes.length === 1 ? '' : ` and ${changes.length - 1} more`;
  throw new Error(`the tree has changes that no commit holds: ${changes[0]?.slice(3)}${more}; commit or remove them`);
}

function say(program, ...words) {
  // Only the time of the commit may tell two builds apart.
  const env = { ...process.env, SOURCE_DATE_EPOCH: process.env.SOURCE_DATE_EPOCH || git('log', '-1', '--format=%ct') };
  return execFileSync(program, words, { cwd: root, encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'inherit'] });
}

function git(...words) {
  try {
    return execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trimEnd();
  } catch {
    throw new Error('a release is made from a clone of the repository: git does not know this folder');
  }
}

function read(path) {
  return readFileSync(join(root, path), 'utf8');
}
