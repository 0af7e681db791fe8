// The commands that tell about the program itself.
import type { CommandSpec } from './command-spec.ts';
import { output } from './options.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;

export const aboutCommands: readonly CommandSpec[] = [
  {
    name: 'schema',
    operands: '',
    maxOperands: 0,
    summary: 'Print the JSON Schema of the configuration',
    details: ['For editors and for other programs that check a configuration.'],
    options: [output('json')],
    examples: [{ line: 'hostward schema > hostward.schema.json', says: 'for completion in an editor' }],
  },
  {
    name: 'docs',
    operands: '[PAGE [SECTION]]',
    maxOperands: 2,
    summary: 'List the pages about Hostward, or print one of them',
    details: [
      'The pages belong to this version, and need no network. SECTION prints one section of the page; it is the heading of the section.',
    ],
    options: [output('text', 'json')],
    examples: [
      { line: 'hostward docs', says: 'the pages' },
      { line: 'hostward docs install', says: 'one page' },
      { line: 'hostward docs doctor HW-101', says: 'what a code of doctor means' },
    ],
  },
  {
    name: 'completion',
    operands: 'SHELL',
    maxOperands: 1,
    operandChoices: shells,
    summary: 'Print the completion of commands and options for bash, zsh or fish',
    details: ['SHELL is bash, zsh or fish.'],
    options: [],
    examples: [
      { line: 'hostward completion bash > ~/.local/share/bash-completion/completions/hostward', says: 'for bash' },
      { line: 'hostward completion zsh > ~/.zsh/completions/_hostward', says: 'for zsh, in a folder of its fpath' },
      { line: 'hostward completion fish > ~/.config/fish/completions/hostward.fish', says: 'for fish' },
    ],
  },
  {
    name: 'version',
    operands: '',
    maxOperands: 0,
    summary: 'Print the version of Hostward and of the Node that runs it',
    details: [],
    options: [output('text', 'json')],
    examples: [{ line: 'hostward version', says: 'for a report of a fault' }],
  },
];
