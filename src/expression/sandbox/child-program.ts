// How the sandbox process is started: which program, with which rights taken away. From a package it is a file of the
// bundle; from a checkout its text is handed over with the types already stripped, because stripping needs WebAssembly,
// which a process without a just-in-time compiler does not have.
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sandboxLimits } from '../limits.ts';

/** Compiled code is the larger part of what can go wrong in V8; without it expressions take half as long again. */
const withoutCompiler = ['--jitless'];
/** Heaps this small need no second thread, and threads that wait for each other make the C library open files. */
const withoutThreads = ['--single-threaded', '--v8-pool-size=0'];
/** Node can set no limit of the kernel, neither on itself nor on a child; this one is V8's own. */
const withinBounds = [
  `--max-old-space-size=${sandboxLimits.processHeapMb}`,
  // Texts that pass through die young; by itself V8 lets them pile up to three times sixteen megabytes.
  `--max-semi-space-size=${sandboxLimits.youngHeapMb}`,
];
const withoutRights = [
  '--permission',
  '--allow-addons',
  '--disallow-code-generation-from-strings',
  '--disable-proto=delete',
];

/** The arguments for Node. */
export async function childArguments(options: { jit: boolean; nodePath: string }): Promise<string[]> {
  const entry = fileURLToPath(new URL('./sandbox-main.ts', import.meta.url));
  const isBundled = !entry.endsWith('.ts');
  const { home, folders } = isolatedVmOf(entry);
  const readable = isBundled ? [...folders, dirname(entry)] : folders;
  const flags = [
    ...(options.jit ? [] : withoutCompiler),
    ...withoutThreads,
    ...withinBounds,
    ...withoutRights,
    ...readable.map((folder) => `--allow-fs-read=${folder}/*`),
    // Looked at by the loader of native code, to tell one C library from the other.
    '--allow-fs-read=/etc/alpine-release',
    '--no-warnings',
  ];
  if (isBundled) return [...flags, entry, home];
  return [...flags, '--input-type=module', '--eval', await linkedOnce(entry, options.nodePath), home];
}

/** The only files that the process may read: the native code and what loads it. */
function isolatedVmOf(entry: string): { home: string; folders: string[] } {
  const home = createRequire(entry).resolve('isolated-vm');
  const loader = createRequire(home).resolve('node-gyp-build');
  return { home, folders: [dirname(home), dirname(loader)] };
}

/** Prints one import statement that holds a module and, inside it, whatever the module imports of the house. */
const linker = `
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { argv } from 'node:process';
import { pathToFileURL } from 'node:url';
const linked = (module) => {
  const code = stripTypeScriptTypes(readFileSync(module, 'utf8'));
  const text = code.replace(/(\\bfrom )'(\\.[^']+)'/g, (_, from, target) => from + "'" + linked(new URL(target, module)) + "'");
  return 'data:text/javascript;base64,' + Buffer.from(text).toString('base64');
};
console.log("import '" + linked(pathToFileURL(argv.at(-1))) + "'");
`;

/** The text by the Node that made it: sources do not change under a running process, and making it takes longer than a start. */
const linkedBy = new Map<string, Promise<string>>();

function linkedOnce(entry: string, nodePath: string): Promise<string> {
  const known = linkedBy.get(nodePath);
  if (known !== undefined) return known;
  const made = linked(entry, nodePath);
  linkedBy.set(nodePath, made);
  // Whatever was in the way may be gone the next time.
  made.catch(() => linkedBy.delete(nodePath));
  return made;
}

/**
 * Done by a process of its own: the function that strips is experimental and says so on standard error, and what it needs
 * would stay in the memory of a daemon.
 */
async function linked(entry: string, nodePath: string): Promise<string> {
  const args = ['--no-warnings', '--input-type=module', '--eval', linker, entry];
  const { stdout } = await promisify(execFile)(nodePath, args, { env: {} });
  return stdout;
}
