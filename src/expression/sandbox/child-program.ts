// Builds the command line of the sandbox process: its program and the flags that take rights away. In a package the program is
// a file of the bundle. In a checkout the program is passed as text with the types stripped beforehand, because stripping needs
// WebAssembly, and Node has no WebAssembly without a just-in-time compiler.
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sandboxLimits } from '../limits.ts';

/** Most holes in V8 were found in its compilers. Without a compiler expressions take half as long again. */
const noCompilerFlags = ['--jitless'];
/** A heap this small needs no second thread, and threads that wait for each other make the C library open files. */
const noThreadFlags = ['--single-threaded', '--v8-pool-size=0'];
/** Node cannot set kernel limits, neither on itself nor on a child, so the bounds are flags of V8. */
const heapFlags = [
  `--max-old-space-size=${sandboxLimits.processHeapMb}`,
  // Request texts are garbage at once; without the flag V8 lets them pile up to three times sixteen megabytes.
  `--max-semi-space-size=${sandboxLimits.youngHeapMb}`,
];
const noRightsFlags = [
  '--permission',
  '--allow-addons',
  '--disallow-code-generation-from-strings',
  '--disable-proto=delete',
  // A signal would open the inspector.
  '--disable-sigusr1',
];

export async function childArguments({ nodePath }: { nodePath: string }): Promise<string[]> {
  const entry = fileURLToPath(new URL('./sandbox-main.ts', import.meta.url));
  const isBundled = !entry.endsWith('.ts');
  const { home, folders } = isolatedVmOf(entry);
  const readable = isBundled ? [...folders, dirname(entry)] : folders;
  const flags = [
    ...noCompilerFlags,
    ...noThreadFlags,
    ...heapFlags,
    ...noRightsFlags,
    ...readable.map((folder) => `--allow-fs-read=${folder}/*`),
    // The loader of native code checks this file to tell musl from glibc.
    '--allow-fs-read=/etc/alpine-release',
    '--no-warnings',
  ];
  if (isBundled) return [...flags, entry, home];
  return [...flags, '--input-type=module', '--eval', await linkOnce(entry, nodePath), home];
}

/** The main file of isolated-vm, and the only folders that the process may read: its native code and its loader. */
function isolatedVmOf(entry: string): { home: string; folders: string[] } {
  // The bundle brings the native code of the supported platforms along, see launcher/build.
  if (!entry.endsWith('.ts')) return { home: join(dirname(entry), 'isolated-vm', 'isolated-vm.cjs'), folders: [] };
  const home = createRequire(entry).resolve('isolated-vm');
  const loader = createRequire(home).resolve('node-gyp-build');
  return { home, folders: [dirname(home), dirname(loader)] };
}

/** A program that prints one import statement: a module as a data URL, with the modules that it imports by path inside it. */
const linker = `
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { argv } from 'node:process';
import { pathToFileURL } from 'node:url';
const link = (module) => {
  const code = stripTypeScriptTypes(readFileSync(module, 'utf8'));
  const text = code.replace(/(\\bfrom )'(\\.[^']+)'/g, (_, from, target) => from + "'" + link(new URL(target, module)) + "'");
  return 'data:text/javascript;base64,' + Buffer.from(text).toString('base64');
};
console.log("import '" + link(pathToFileURL(argv.at(-1))) + "'");
`;

/** By the path of Node. Kept, because linking takes longer than a start, and sources do not change under a running process. */
const programs = new Map<string, Promise<string>>();

function linkOnce(entry: string, nodePath: string): Promise<string> {
  const known = programs.get(nodePath);
  if (known !== undefined) return known;
  const program = link(entry, nodePath);
  programs.set(nodePath, program);
  // Forget a failure, so that the next start links again.
  program.catch(() => programs.delete(nodePath));
  return program;
}

/**
 * Links in a separate process: stripTypeScriptTypes() is experimental, prints a warning on standard error, and would leave
 * its WebAssembly in the memory of the daemon.
 */
async function link(entry: string, nodePath: string): Promise<string> {
  const args = ['--no-warnings', '--input-type=module', '--eval', linker, entry];
  const { stdout } = await promisify(execFile)(nodePath, args, { env: {} });
  return stdout;
}
