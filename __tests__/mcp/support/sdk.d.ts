/** Installed beside this suite only, so that `npm ci` at the root stays small; the suite itself shows that their types are right. */
declare module '@modelcontextprotocol/*' {
  const anything: any;
  export = anything;
}
