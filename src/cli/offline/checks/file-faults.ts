// Looks at the files that a configuration names, for `check`. In: a loaded configuration and the options. Out: a fault for each file
// that is missing or cannot be read. Here and not in the loader, because the daemon must start, and stay up, without the files of one
// cluster among many.
import { type Fault, fault, quoted } from '../../../config/fault.ts';
import type { NamedFile } from '../../../config/settings/named-files.ts';
import type { SourceFile } from '../../../config/yaml/source-text.ts';
import type { Context } from '../../line/context.ts';
import type { LoadedAll } from '../../line/load-settings.ts';
import type { Options } from '../../line/parse-arguments.ts';

/** Options whose file replaces that of a setting. */
const flags = { virtualKubeconfig: 'virtual-kubeconfig', hostKubeconfig: 'host-kubeconfig' };

interface Wanted {
  path: string;
  file: string;
  at?: NamedFile['at'];
}

export async function fileFaults({ files }: Context, options: Options, { files: named }: LoadedAll): Promise<Fault[]> {
  const given = Object.entries(flags).flatMap(([key, flag]) => {
    const file = options.text(flag);
    return file === undefined ? [] : [{ key, path: `--${flag}`, file }];
  });
  const isReplaced = ({ path }: Wanted) => given.some(({ key }) => path.endsWith(`hostward.${key}`));
  const wanted: Wanted[] = [...named.filter((one) => !isReplaced(one)), ...given];
  const read = new Map<string, SourceFile>();
  // One after the other, because a configuration may name more files than a process may open.
  for (const { file } of wanted) if (!read.has(file)) read.set(file, await files.readConfiguration(file));
  return wanted.flatMap(({ path, file, at }): Fault[] => {
    const found = foundIn(read.get(file) as SourceFile);
    if (found === undefined) return [];
    const sentence = `wanted a file that can be read, found ${found} at ${quoted(file)}`;
    const relative = file.startsWith('/') ? '' : ', which counts from the working folder,';
    const fix = `correct the path${relative} or give --no-files where the files live elsewhere`;
    return [fault({ code: 'CONFIG_NAMED_FILE', at, path, sentence, fix })];
  });
}

/** Undefined for a file that can be read; the reader of configurations also refuses what is only too long for one. */
function foundIn(file: SourceFile): string | undefined {
  if (!('problem' in file)) return file.text.length === 0 ? 'an empty file' : undefined;
  switch (file.problem) {
    case 'missing':
      return 'nothing';
    case 'directory':
      return 'a folder';
    case 'no-file':
      return file.what;
    case 'unreadable':
      return file.reason;
    case 'too-large':
      return undefined;
    default:
      return file satisfies never;
  }
}
