// The folder of an option such as --profile: a mistake in it ends the bench at its start, with one sentence and exit code 2.
import { whyNoFolder } from './blackbox/output-place.ts';

export function outputFolder(option: string, folder: string | undefined): string | undefined {
  const why = folder === undefined ? undefined : whyNoFolder(folder);
  if (why === undefined) return folder;
  process.stderr.write(`${option} "${folder}"${why}\n`);
  process.exit(2);
}
