// Loaded before everything else in a process that plays seeds with a mistake: the one file that has it is loaded with the mistake in it.
import { registerHooks } from 'node:module';
import { mutants, mutantVariable, planted } from './mutants.ts';

const root = new URL('../../../', import.meta.url).href;
const mutant = mutants.find(({ name }) => name === process.env[mutantVariable]);
if (mutant === undefined)
  throw new Error(`plant a mistake: wanted a known one, found "${process.env[mutantVariable]}"`);

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context);
    if (url !== `${root}${mutant.file}`) return loaded;
    return { ...loaded, source: planted(Buffer.from(loaded.source as Uint8Array).toString('utf8'), mutant) };
  },
});
