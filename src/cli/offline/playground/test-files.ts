// Runs a case of `hostward test` whose files are in memory. In: the texts of the files. Out: what differs, and the files as --update
// would leave them. It touches no file of the machine.
import type { TestAnswer, TestRequest } from '../../../pages/playground-api.ts';
import type { OfflineMeans } from '../offline-patches.ts';
import { type CaseMeans, runCase } from '../test-case.ts';

const folder = '/case';

export async function testFiles(means: OfflineMeans, { files, update = false }: TestRequest): Promise<TestAnswer> {
  const texts = new Map(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]));
  const all = { ...means, cwd: '/', readStdin: async () => '', files: filesIn(texts) };
  const { problems, updated } = await runCase(all, folder, { isUpdate: update });
  const after = [...texts].map(([path, text]) => [path.slice(folder.length + 1), text]);
  return { problems, updated, files: Object.fromEntries(after) };
}

function filesIn(texts: Map<string, string>): CaseMeans['files'] {
  return {
    async read(path) {
      const text = texts.get(path);
      if (text === undefined) throw Object.assign(new Error(path), { code: 'ENOENT', syscall: 'open', path });
      return text;
    },
    async readConfiguration(name) {
      const text = texts.get(name);
      return text === undefined ? { name, problem: 'missing' } : { name, text };
    },
    async list(parent) {
      const inside = [...texts.keys()].filter((path) => path.startsWith(`${parent}/`));
      return [...new Set(inside.map((path) => path.slice(parent.length + 1).replace(/\/.*/, '/')))];
    },
    async write(path, text) {
      texts.set(path, text);
    },
  };
}
