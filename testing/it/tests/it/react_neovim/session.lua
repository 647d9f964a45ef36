-- A person at Neovim, from the first file to `:wq`; what they see is printed as a line of JSON.
local PATIENCE_MS = 60000

local function said(text)
  return vim.fn.execute("messages"):find(text, 1, true) ~= nil
end

local function on_disk(file)
  return vim.fn.filereadable(file) == 1 and table.concat(vim.fn.readfile(file), "\n") or ""
end

local function wait(what, condition)
  if not vim.wait(PATIENCE_MS, condition, 20) then
    io.stdout:write(what .. " never happened; messages:\n" .. vim.fn.execute("messages") .. "\n")
    vim.cmd("cquit")
  end
end

local function edit(file, text)
  vim.cmd.edit(file)
  wait("the client's start", function()
    local client = vim.lsp.get_clients({ bufnr = 0, name = "dispatch" })[1]
    return client and client.initialized
  end)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { text })
end

local seen = {}

edit("a.txt", "saved too early")
wait("the question", function() return said("Dispatch: hooks wait for your approval: `note`") end)
vim.cmd.write()
seen.unapproved = on_disk("noted")
vim.fn.system({ "dispatch", "trust", ".akira/hooks.json" })
seen.trust = vim.v.shell_error

edit("a.txt", "saved by a person")
vim.cmd.write()
wait("the run", function() return on_disk("noted") == "saved by a person" end)

edit("b.bad", "anything")
vim.cmd.write()
wait("the failure", function() return said("Dispatch: hook `bad`: failed: exit code 9") end)

-- Neovim waits for edits for a second; a slow machine may need another save.
local saves = 0
wait("an edit before the save", function()
  saves = saves + 1
  edit("c.md", "loud " .. saves)
  vim.cmd.write()
  return on_disk("c.md") == "LOUD " .. saves
end)
seen.buffer = vim.api.nvim_buf_get_lines(0, 0, -1, false)[1] == "LOUD " .. saves
seen.modified = vim.bo.modified

edit("e.late", "no hurry")
vim.cmd.write()
wait("the late hook", function() return said("hook `late` was not done in time") end)
vim.fn.writefile({}, "saved")
wait("its end", function() return on_disk("unhurried") == "no hurry" end)

seen.messages = vim.fn.execute("messages")
io.stdout:write(vim.json.encode(seen) .. "\n")
edit("d.end", "the last one")
vim.cmd.wq()
