export default ({ default: hook }) => {
  if (hook === undefined) throw new SyntaxError("the module has no default export");

  const meta = {
    supports: [...(hook.supports ?? [])],
    priority: hook.priority ?? 100,
    hotPathSafe: hook.hotPathSafe === true,
    critical: hook.critical === true,
  };

  const slugged = (slug) => String(slug).replace(/[^A-Za-z0-9_-]/g, "_");
  const below = (root, path) =>
    path === root ? "" : path.startsWith(`${root}/`) ? path.slice(root.length + 1) : null;

  const handle = async (eventName, ctx) => {
    const { paths, timers } = ctx;
    paths.featureRoot = (slug) => `${paths.sessionRoot}/${slugged(slug)}`;
    paths.featureLogs = (slug) => `${paths.featureRoot(slug)}/logs`;
    paths.featureOutput = (slug) => `${paths.featureRoot(slug)}/output`;
    paths.relRef = (path) => below(paths.sessionRoot, path);
    paths.repoRelative = (path) => below(paths.repoRoot, path);
    // `Date` is there only if the module names it.
    timers.elapsed = () => performance.timeOrigin + performance.now() - timers.startMs;
    ctx.readText = (path) => host.readText(path);
    ctx.log = (level, message, data) => {
      const write = console[["debug", "info", "warn", "error"].includes(level) ? level : "info"];
      if (data === undefined) write(message);
      else write(message, data);
    };
    return (await hook.handle(eventName, ctx)) ?? null;
  };

  return { meta, handle };
};
