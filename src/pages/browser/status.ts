// The script of the status pages.
export {};
